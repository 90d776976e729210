"""Prints the value in a YAML file (first argument) that the keys after it lead to."""

import sys, yaml
values = list(yaml.safe_load_all(open(sys.argv[1])))
value = values[0] if len(values) == 1 else values
for key in sys.argv[2:]:
    value = value[int(key) if isinstance(value, list) else key]
print("\n".join(map(str, value)) if isinstance(value, list) else value)
