"""Reads metrics from stdin with both parsers of the package prometheus-client, for OpenMetrics and for the older text
format, and prints the samples of each as JSON: [[NAME, LABELS, VALUE], ...]. Every metric must be a gauge with a help."""

import json
import sys

from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics_parser

text = sys.stdin.read()
found = []
for parse in (openmetrics_parser.text_string_to_metric_families, parser.text_string_to_metric_families):
    samples = []
    for family in parse(text):
        assert family.type == "gauge" and family.documentation, family
        samples += [[sample.name, sample.labels, sample.value] for sample in family.samples]
    found.append(samples)
json.dump(found, sys.stdout)
