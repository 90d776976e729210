//! Medians and other quantiles.

/// Measured values, in milliseconds unless the table says otherwise.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample(Vec<f64>);

impl Sample {
    /// Adds a value.
    pub(crate) fn add(&mut self, value: f64) {
        self.0.push(value);
    }

    /// Adds values.
    pub(crate) fn extend(&mut self, values: impl IntoIterator<Item = f64>) {
        self.0.extend(values);
    }

    /// The number of values.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The median.
    pub(crate) fn median(&self) -> f64 {
        self.quantile(50)
    }

    /// The 90th percentile.
    pub(crate) fn p90(&self) -> f64 {
        self.quantile(90)
    }

    /// The ratio to another sample that was taken in the same rounds: the median of the ratios of each round, so that a
    /// disturbance of some rounds affects both samples.
    pub(crate) fn ratio_to(&self, other: &Self) -> f64 {
        if self.len() != other.len() {
            return self.median() / other.median();
        }
        Self(self.0.iter().zip(&other.0).map(|(own, other)| own / other).collect()).median()
    }

    fn quantile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        // The mean of the two nearest values if the quantile lies between two.
        let (below, above) = (last * percent / 100, (last * percent).div_ceil(100));
        match (sorted.get(below), sorted.get(above)) {
            (Some(below), Some(above)) => f64::midpoint(*below, *above),
            _ => f64::NAN,
        }
    }
}
