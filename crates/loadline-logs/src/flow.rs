//! What went one way: counts, rates, latency; merged over jobs and differenced over time.

use crate::Histogram;

/// What went one way (reads or writes) or both, over one span of time. Latencies are fio's total ones (`lat_ns`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Flow {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// How many I/Os the latencies speak of; 0 when fio was told not to take them, or during its ramp.
    pub latency_samples: u64,
    /// Mean latency, ns; `None` without samples.
    pub latency_mean_ns: Option<f64>,
    /// Sample standard deviation, ns (n - 1 below, as in fio); `None` when it can't be had.
    pub latency_stddev_ns: Option<f64>,
    /// Largest latency, ns; `None` without samples, and for a difference of totals.
    pub latency_max_ns: Option<u64>,
    /// Latencies by fio's bins; empty when fio printed no bins.
    pub histogram: Histogram,
}

/// fio prints means and deviations with six decimals, so each is off by up to half of the last one.
const PRINTED_WITHIN_NS: f64 = 5e-7;
/// A sum of squares is only used if it is this many times what may be its error: that is 0.5 % of the deviation.
const SOUND_ABOVE: f64 = 100.0;

impl Flow {
    /// Flows that ran side by side as one: rates and counts added, means weighted by their samples, deviations pooled
    /// with the spread of the means (Chan, Golub and `LeVeque` 1979, eq. 1.5), histograms merged.
    ///
    /// What is unknown in a flow that has samples is unknown in the whole.
    pub fn merge<'a>(flows: impl IntoIterator<Item = &'a Flow>) -> Flow {
        let mut whole = Flow::default();
        for flow in flows {
            let (mean_ns, stddev_ns, max_ns) = whole.pooled_latency(flow);
            whole.ios = whole.ios.saturating_add(flow.ios);
            whole.bytes = whole.bytes.saturating_add(flow.bytes);
            whole.iops += flow.iops;
            whole.bytes_per_s += flow.bytes_per_s;
            whole.latency_samples = whole.latency_samples.saturating_add(flow.latency_samples);
            whole.latency_mean_ns = mean_ns;
            whole.latency_stddev_ns = stddev_ns;
            whole.latency_max_ns = max_ns;
            if !flow.histogram.is_empty() {
                whole.histogram = whole.histogram.merged(&flow.histogram);
            }
        }
        whole
    }

    fn pooled_latency(&self, other: &Flow) -> (Option<f64>, Option<f64>, Option<u64>) {
        if self.latency_samples == 0 {
            return (
                other.latency_mean_ns,
                other.latency_stddev_ns,
                other.latency_max_ns,
            );
        }
        if other.latency_samples == 0 {
            return (
                self.latency_mean_ns,
                self.latency_stddev_ns,
                self.latency_max_ns,
            );
        }
        let (n, m) = (self.latency_samples as f64, other.latency_samples as f64);
        let max_ns = self
            .latency_max_ns
            .zip(other.latency_max_ns)
            .map(|(a, b)| a.max(b));
        let Some((mean, other_mean)) = self.latency_mean_ns.zip(other.latency_mean_ns) else {
            return (None, None, max_ns);
        };
        let delta = other_mean - mean;
        let stddev_ns = self.squares().zip(other.squares()).map(|(a, b)| {
            let squares = a + b + delta * delta * n * m / (n + m);
            (squares / (n + m - 1.0)).sqrt()
        });
        (Some(mean + delta * m / (n + m)), stddev_ns, max_ns)
    }

    /// Sum of squared deviations from the mean, ns².
    fn squares(&self) -> Option<f64> {
        self.latency_stddev_ns
            .map(|stddev| stddev * stddev * (self.latency_samples as f64 - 1.0).max(0.0))
    }

    /// What came after `earlier`, an older state of the same counters, within `duration_ns`. Counters that ran
    /// backwards count as 0; the maximum is unknown; the deviation is given where the difference of the sums of
    /// squares is sound. I/Os are those whose latencies were taken, if any were: fio counts them when they are sent, and bytes and
    /// latencies when they end.
    #[must_use]
    pub fn since(&self, earlier: &Flow, duration_ns: u64) -> Flow {
        let samples = self.latency_samples.saturating_sub(earlier.latency_samples);
        let mut span = Flow {
            ios: if samples > 0 {
                samples
            } else {
                self.ios.saturating_sub(earlier.ios)
            },
            bytes: self.bytes.saturating_sub(earlier.bytes),
            latency_samples: samples,
            histogram: self.histogram.since(&earlier.histogram),
            ..Flow::default()
        };
        span.set_rates(duration_ns);
        if samples > 0 && earlier.latency_samples == 0 {
            (span.latency_mean_ns, span.latency_stddev_ns) =
                (self.latency_mean_ns, self.latency_stddev_ns);
        } else if samples > 0 {
            span.latency_mean_ns = self.mean_since(earlier, samples as f64);
            span.latency_stddev_ns = span
                .latency_mean_ns
                .and_then(|mean_ns| self.stddev_since(earlier, mean_ns, samples));
        }
        span
    }

    pub(crate) fn set_rates(&mut self, duration_ns: u64) {
        let seconds = duration_ns as f64 / 1e9;
        if seconds > 0.0 {
            (self.iops, self.bytes_per_s) =
                (self.ios as f64 / seconds, self.bytes as f64 / seconds);
        }
    }

    fn mean_since(&self, earlier: &Flow, samples: f64) -> Option<f64> {
        let (mean, before) = self.latency_mean_ns.zip(earlier.latency_mean_ns)?;
        // Written around the later mean, so that two large sums aren't subtracted.
        let span_mean = mean + (mean - before) * (earlier.latency_samples as f64 / samples);
        (span_mean >= 0.0 && span_mean.is_finite()).then_some(span_mean)
    }

    fn stddev_since(&self, earlier: &Flow, mean_ns: f64, samples: u64) -> Option<f64> {
        if samples == 1 {
            return Some(0.0);
        }
        let (all, before) = self.squares().zip(earlier.squares())?;
        let (n, m) = (earlier.latency_samples as f64, samples as f64);
        let delta = mean_ns - earlier.latency_mean_ns?;
        let squares = all - before - delta * delta * n * m / (n + m);
        if all == 0.0 && squares == 0.0 {
            return Some(0.0);
        }
        // First order in the printed numbers, and the rounding of f64.
        let spread =
            (n + m) * self.latency_stddev_ns? + n * earlier.latency_stddev_ns? + n * delta.abs();
        let error = 2.0 * PRINTED_WITHIN_NS * spread + all * 1e-14;
        (squares > error * SOUND_ABOVE).then(|| (squares / (m - 1.0)).sqrt())
    }
}
