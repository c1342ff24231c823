//! Medians, and how sure one can be of them.

use crate::random::below;

/// How often parts are drawn by lot.
const DRAWS: usize = 400;

/// A median with the interval that holds the true one in 95 of 100 cases.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    /// The median.
    pub(crate) median: f64,
    /// The lower end.
    pub(crate) low: f64,
    /// The upper end.
    pub(crate) high: f64,
}

impl Estimate {
    /// From independent values, by their order alone; none where there are none.
    ///
    /// The number of values under the true median is binomial, so its 2.5 % and 97.5 % ranks lie about 0.98
    /// times the root of the count away from the middle.
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Estimate> {
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        let (middle, away) = (values.len() as f64 / 2.0, 0.98 * (values.len() as f64).sqrt());
        let at = |rank: f64| values[(rank.max(0.0) as usize).min(last)];
        Some(Estimate {
            median: quantile(&values, 0.5),
            low: at((middle - away).floor()),
            high: at(middle + away),
        })
    }

    /// What `measure` says of parts by their numbers: of all of them, and what it says in 95 of 100 cases
    /// when as many are drawn by lot, some of them more than once.
    pub(crate) fn resampled(parts: usize, measure: impl Fn(&[usize]) -> f64) -> Estimate {
        let all: Vec<usize> = (0..parts).collect();
        let draw = |draw: usize| (0..parts).map(move |part| below((draw * parts + part) as u64, parts));
        let mut drawn: Vec<f64> =
            (0..DRAWS).map(|number| measure(&draw(number).collect::<Vec<_>>())).collect();
        drawn.sort_by(f64::total_cmp);
        Estimate { median: measure(&all), low: quantile(&drawn, 0.025), high: quantile(&drawn, 0.975) }
    }
}

/// The value below which this share of sorted values lies; 0 where there are none.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = share * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}
