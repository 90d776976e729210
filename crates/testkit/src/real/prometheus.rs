//! Metrics as Prometheus reads them.

use super::skip::skip;
use super::spawn::spawn;
use serde_json::{Value, from_slice};
use std::io::Write;
use std::process::{Command, Stdio};

const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.tools/venv/bin/python");
const HELPER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/helpers/prometheus.py");

/// One value of a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub name: String,
    /// The label `path`, which is the only one.
    pub path: Option<String>,
    pub value: f64,
}

/// Metrics that both of Prometheus' own parsers, for OpenMetrics and for the older text format, read alike.
#[derive(Debug)]
pub struct Metrics(Vec<Sample>);

impl Metrics {
    /// Parses `text`. `None` if the parsers aren't installed, and the test is skipped.
    #[track_caller]
    pub fn parse(text: &str) -> Option<Self> {
        let mut found = Command::new(PYTHON);
        let found = found.args(["-c", "import prometheus_client"]).stderr(Stdio::null()).status();
        if !found.is_ok_and(|status| status.success()) {
            skip("the Python package prometheus-client is not in .tools/venv; scripts/test installs it");
            return None;
        }
        let mut python = Command::new(PYTHON);
        let mut child = spawn(python.arg(HELPER).stdin(Stdio::piped()).stdout(Stdio::piped()));
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "not what Prometheus reads:\n{text}");
        let parsed: [Vec<(String, Value, f64)>; 2] =
            serde_json::from_value(from_slice(&output.stdout).unwrap()).unwrap();
        assert_eq!(parsed[0], parsed[1], "the parsers differ:\n{text}");
        let [samples, _] = parsed;
        let sample = |(name, labels, value): (String, Value, f64)| {
            assert!(labels.as_object().unwrap().keys().all(|label| label == "path"), "{labels}");
            Sample { name, path: labels["path"].as_str().map(str::to_owned), value }
        };
        Some(Self(samples.into_iter().map(sample).collect()))
    }

    /// The value of this metric for this path; `None`: there is no such sample.
    pub fn of(&self, name: &str, path: &str) -> Option<f64> {
        self.find(name, Some(path))
    }

    /// The value of a metric without a path.
    pub fn whole(&self, name: &str) -> Option<f64> {
        self.find(name, None)
    }

    /// The paths that a metric has.
    pub fn paths(&self, name: &str) -> Vec<&str> {
        let of_name = self.0.iter().filter(|sample| sample.name == name);
        of_name.filter_map(|sample| sample.path.as_deref()).collect()
    }

    /// How many samples there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    fn find(&self, name: &str, path: Option<&str>) -> Option<f64> {
        let mut found = self.0.iter().filter(|sample| sample.name == name && sample.path.as_deref() == path);
        let value = found.next()?.value;
        assert_eq!(found.next(), None, "{name} of {path:?} is there twice");
        Some(value)
    }
}
