//! Draws the costs of a growing queue as SVG.

use std::fmt::Write;

use crate::growth::Point;

const WIDTH: f64 = 470.0;
const HEIGHT: f64 = 260.0;
const TOP: f64 = 50.0;
/// The grid lines within each power of ten.
const GRID: [f64; 3] = [1.0, 2.0, 5.0];

type Value = fn(&Point) -> f64;
type Line = (&'static str, &'static str, Value);

const TIMES: [Line; 6] = [
    ("enqueue", "#c0392b", |point| point.enqueue.median()),
    ("zklock -n", "#d68910", |point| point.look.median()),
    ("look again", "#7d3c98", |point| point.look_again.median()),
    ("wake", "#1e8449", |point| point.wake.median()),
    ("wake and look", "#2471a3", |point| point.wake_and_look.median()),
    ("list alone", "#566573", |point| point.list.median()),
];
const BYTES: [Line; 3] = [
    ("enqueue and leave", "#c0392b", |point| point.enqueue_bytes),
    ("zklock -n", "#d68910", |point| point.look_bytes),
    ("a turn, the others behind", "#2471a3", |point| point.turn_bytes),
];

/// Two panels, both axes logarithmic: a cost that doesn't grow is a flat line, one that grows with the number of
/// nodes rises as steeply as the panel.
pub(crate) fn draw(points: &[Point]) -> String {
    let mut svg = String::new();
    let (width, height) = (2.0 * WIDTH + 190.0, HEIGHT + TOP + 60.0);
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>"
    );
    panel(&mut svg, points, 60.0, "milliseconds (median)", &TIMES);
    panel(&mut svg, points, WIDTH + 150.0, "KiB from the server", &BYTES);
    svg.push_str("</svg>\n");
    svg
}

/// A logarithmic axis: a range of values, and its range of coordinates.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        Self { low, high: values.fold(low * 1.01, f64::max), from, to }
    }

    fn place(&self, value: f64) -> f64 {
        self.from + (value / self.low).ln() / (self.high / self.low).ln() * (self.to - self.from)
    }

    fn marks(&self) -> Vec<f64> {
        let powers = (-3..8).flat_map(|power| GRID.map(|step| step * 10f64.powi(power)));
        powers.filter(|mark| (self.low..=self.high).contains(mark)).collect()
    }
}

fn panel(svg: &mut String, points: &[Point], left: f64, title: &str, lines: &[Line]) {
    let bottom = TOP + HEIGHT;
    let across = Axis::of(points.iter().map(|point| point.nodes as f64), left, left + WIDTH);
    let values = lines.iter().flat_map(|(.., value)| points.iter().map(value));
    let up = Axis::of(values, bottom, TOP);
    for mark in up.marks() {
        let y = up.place(mark);
        rule(svg, (left, y), (left + WIDTH, y));
        text(svg, (left - 6.0, y + 4.0), "end", "black", &mark.to_string());
    }
    for mark in across.marks() {
        let x = across.place(mark);
        rule(svg, (x, TOP), (x, bottom));
        text(svg, (x, bottom + 16.0), "middle", "black", &mark.to_string());
    }
    text(svg, (left + WIDTH / 2.0, bottom + 36.0), "middle", "black", "nodes in the queue");
    text(svg, (left, 18.0), "start", "black", title);
    let mut legend = left;
    for (name, colour, value) in lines {
        let place =
            |point: &Point| format!("{:.1},{:.1}", across.place(point.nodes as f64), up.place(value(point)));
        let places: Vec<String> = points.iter().map(place).collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            places.join(" ")
        );
        text(svg, (legend, 36.0), "start", colour, name);
        legend += 6.2 * name.len() as f64 + 18.0;
    }
}

fn rule(svg: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let _ = writeln!(
        svg,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"#dddddd\"/>"
    );
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, colour: &str, words: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{words}</text>"
    );
}
