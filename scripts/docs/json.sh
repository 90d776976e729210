# shellcheck shell=bash disable=SC2154 # the shell of the page has the variables
# docs/json.md: the page has every field that zklock prints, and no other.

let_go
hold /locks/fields
zklock --once-per 60 /locks/done -- true
zklock status --json /locks/done /locks/fields >status.json
zklock check --json /locks/fields >check.json
python3 - "$root/docs/json.md" <<'PYTHON'
import json, re, sys
page = open(sys.argv[1]).read()
# The fields of the table that follows a heading or a line. `.granted` stands for the field of the object before it.
def told(title):
    table = page.split("\n" + title + "\n", 1)[1].split("\n| field |", 1)[1].split("\n\n", 1)[0]
    return {name for line in table.splitlines() for name in re.findall(r"`([\w.]+)`", line.split(" | ")[0])
            if "." not in name}
status, check = json.load(open("status.json")), json.load(open("check.json"))
done, lock = status["locks"]
found = {"### The document": status, "### A lock": lock, "### A contender": lock["contenders"][0],
         "### A success": done["last_success"], "## Check": check, "A server:": check["servers"][0]}
wrong = [f"{title}: {told(title) ^ set(fields)}" for title, fields in found.items() if told(title) != set(fields)]
sys.exit("\n".join(wrong) or None)
PYTHON
