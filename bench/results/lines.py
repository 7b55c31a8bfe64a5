"""Turns the JSON of `spinloom bench` (stdin) into lines for this folder: lines.py "machine name"."""
import json
import sys

run = json.load(sys.stdin)
for figure in run["figures"]:
    head = {"bench": run["bench"], "device": run["device"], "machine": sys.argv[1], "commit": run["machine"]["commit"],
            "threads": run["machine"]["threads"]}
    print(json.dumps(head | figure))
