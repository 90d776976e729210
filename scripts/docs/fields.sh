# shellcheck shell=bash disable=SC2154,SC2016 # the shell of the page has the variables
# docs/json.md: the page has every field that zklock prints, and no other.

zklock --once-per 60 /locks/done -- true
zklock status --json /locks/backup /locks/done >now.json
cat >compare.py <<'PYTHON'
import json, re, sys
tables = re.split(r"^##+ ", open(sys.argv[1]).read(), flags=re.M)
told = {part.split("\n")[0]: set(re.findall(r"^\| `(\w+)` \|", part, re.M)) for part in tables}
document = json.load(open("now.json"))
lock, done = document["locks"]
found = {"The document": document, "A lock": lock, "A contender": lock["contenders"][0], "A success": done["last_success"]}
wrong = [f"{name}: {told[name] ^ set(fields)}" for name, fields in found.items() if told[name] != set(fields)]
sys.exit("\n".join(wrong) or None)
PYTHON
"$python" compare.py "$root/docs/json.md"
