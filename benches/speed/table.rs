//! Markdown tables.

/// A table: the head, and the rows below it.
#[derive(Debug)]
pub(crate) struct Table(Vec<Vec<String>>);

impl Table {
    /// A table with these columns.
    pub(crate) fn new(head: &[&str]) -> Self {
        Self(vec![head.iter().map(ToString::to_string).collect()])
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.0.push(cells.into_iter().collect());
    }

    /// Prints the table below a title.
    pub(crate) fn print(&self, title: &str) {
        println!("\n### {title}\n");
        for (index, row) in self.0.iter().enumerate() {
            println!("| {} |", row.join(" | "));
            if index == 0 {
                // Numbers are aligned to the right.
                let rest = row.iter().skip(1).map(|_| "---:").collect::<Vec<_>>();
                println!("|---|{}|", rest.join("|"));
            }
        }
    }
}

/// Milliseconds with about three significant digits; empty if there is no value.
pub(crate) fn ms(value: f64) -> String {
    match value {
        value if !value.is_finite() => String::new(),
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// The ratio of two values; empty if one is missing.
pub(crate) fn ratio(value: f64, to: f64) -> String {
    if (value / to).is_finite() { format!("{:.2}", value / to) } else { String::new() }
}
