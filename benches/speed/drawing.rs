//! Draws the costs of a growing queue as SVG.

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::growth::Point;

const SIZE: (u32, u32) = (1130, 400);

type Curve = (&'static str, RGBColor, fn(&Point) -> f64);

const RED: RGBColor = RGBColor(192, 57, 43);
const ORANGE: RGBColor = RGBColor(214, 137, 16);
const VIOLET: RGBColor = RGBColor(125, 60, 152);
const GREEN: RGBColor = RGBColor(30, 132, 73);
const BLUE: RGBColor = RGBColor(36, 113, 163);
const GREY: RGBColor = RGBColor(86, 101, 115);

const TIMES: [Curve; 6] = [
    ("enqueue", RED, |point| point.enqueue.median()),
    ("zklock -n", ORANGE, |point| point.look.median()),
    ("look again", VIOLET, |point| point.look_again.median()),
    ("wake", GREEN, |point| point.wake.median()),
    ("wake and look", BLUE, |point| point.wake_and_look.median()),
    ("list alone", GREY, |point| point.list.median()),
];
const BYTES: [Curve; 3] = [
    ("enqueue and leave", RED, |point| point.enqueue_bytes),
    ("zklock -n", ORANGE, |point| point.look_bytes),
    ("a hand-off, the others behind", BLUE, |point| point.run_bytes),
];

/// Draws two panels with logarithmic axes: a cost that doesn't depend on the number of nodes is a flat line.
pub(crate) fn draw(points: &[Point]) -> String {
    let mut svg = String::new();
    {
        let plane = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        plane.fill(&WHITE).expect("a background");
        let (left, right) = plane.split_horizontally(SIZE.0 / 2);
        panel(&left, points, "milliseconds (median)", &TIMES);
        panel(&right, points, "KiB from the server", &BYTES);
        plane.present().expect("the drawing");
    }
    svg
}

fn panel(plane: &DrawingArea<SVGBackend<'_>, Shift>, points: &[Point], title: &str, curves: &[Curve]) {
    let across = range(points.iter().map(|point| point.nodes as f64));
    let up = range(curves.iter().flat_map(|(.., value)| points.iter().map(value)));
    let mut chart = ChartBuilder::on(plane)
        .margin(10)
        .caption(title, ("sans-serif", 14))
        .x_label_area_size(40)
        .y_label_area_size(50)
        .build_cartesian_2d(across.log_scale(), up.log_scale())
        .expect("the axes");
    chart.configure_mesh().x_desc("nodes in the queue").draw().expect("the grid");
    for &(name, colour, value) in curves {
        let line = points.iter().map(|point| (point.nodes as f64, value(point)));
        let series = chart.draw_series(LineSeries::new(line, colour.stroke_width(2))).expect("a curve");
        series
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
    }
    let mut legend = chart.configure_series_labels();
    legend
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .draw()
        .expect("a legend");
}

/// From the least of the values to the greatest, with some room above.
fn range(values: impl Iterator<Item = f64> + Clone) -> std::ops::Range<f64> {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    low..values.fold(low, f64::max) * 1.1
}
