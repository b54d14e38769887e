//! One status of fio: the totals of every reporting group at one moment.

use crate::warning::{Warning, Warnings};
use crate::wire::{Number, Options, WireFlow, WireJob, WireStatus};
use crate::{Flow, Histogram};

/// One JSON value of fio's output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Status {
    /// As fio names it, e.g. `fio-3.33`.
    pub fio_version: Option<String>,
    /// The wall clock's time, ns since 1970 (fio gives ms; in client mode s).
    pub time_ns: u64,
    /// Totals by reporting group (by client and group in client mode), in fio's order.
    pub jobs: Vec<Job>,
}

/// One reporting group of fio, totals since its measured time began.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Job {
    /// The job's name; in client mode `host:name`.
    pub name: String,
    /// errno of the job's first failure, 0 for none.
    pub error: i32,
    /// The longest run time of its directions, ns (fio gives ms).
    pub runtime_ns: u64,
    /// Reads.
    pub read: Flow,
    /// Writes.
    pub write: Flow,
    /// User and system time of its threads over their run time; 1 is a whole core for each thread.
    pub cpu_fraction: Option<f64>,
    /// (lowest depth of the level, fraction of submissions at that level).
    pub depth_levels: Vec<(u32, f64)>,
    pub(crate) warmup: Warmup,
}

/// What a status by itself tells of a job's warm-up.
///
/// fio 3.33 counts I/Os and bytes from the start and zeroes them when the ramp ends, but takes no latency before that
/// (`ramp_time_over` guards `add_clat_sample` and its like): I/Os without latencies, in a job that was told to ramp,
/// are warm-up. The sentinel 2147483647 in `eta` says nothing of the kind: it stands there in the first 3 s of any
/// run (`eta.c`), and at times within a ramp it doesn't. Threads of one job (`numjobs`) end their ramps one after the other, some tenths of a
/// second apart where I/Os take long, so that a status may hold the latencies of some and the I/Os of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Warmup {
    /// No ramp was asked for, or latencies show that it is over.
    #[default]
    Over,
    /// A ramp was asked for, and of what was sent not even most has a latency.
    On,
}

impl Job {
    /// The job with nothing measured yet: what a ramp's totals are worth.
    pub(crate) fn unmeasured(&self) -> Job {
        Job {
            name: self.name.clone(),
            error: self.error,
            warmup: self.warmup,
            ..Job::default()
        }
    }
}

/// Reads one JSON value; `None`, with a warning, when it isn't a status.
pub(crate) fn read_status(value: &[u8], warnings: &mut Warnings) -> Option<Status> {
    let wire: WireStatus = match serde_json::from_slice(value) {
        Ok(wire) => wire,
        Err(error) => {
            let mended = mend(value).and_then(|mended| serde_json::from_slice(&mended).ok());
            warnings.push(if mended.is_some() {
                Warning::Mended
            } else {
                Warning::NotAStatus {
                    why: error.to_string(),
                }
            });
            mended?
        }
    };
    let jobs = match (wire.jobs, wire.client_stats) {
        (Some(jobs), _) => jobs,
        (None, Some(entries)) => last_client_status(entries, wire.options, warnings),
        (None, None) => {
            warnings.push(Warning::NoJobs);
            return None;
        }
    };
    let ms = wire
        .timestamp_ms
        .whole()
        .or_else(|| Some(wire.timestamp.whole()?.saturating_mul(1000)));
    if ms.is_none() {
        warnings.push(Warning::NoTime);
    }
    Some(Status {
        fio_version: wire.fio_version.0,
        time_ns: ms.unwrap_or(0).saturating_mul(1_000_000),
        jobs: jobs
            .into_iter()
            .map(|job| read_job(job, wire.options, warnings))
            .collect(),
    })
}

/// Replaces what isn't UTF-8, and fio's `nan` and `inf` (printf's spelling, not JSON) by `null`; `None` if there is none.
fn mend(value: &[u8]) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(value);
    let mut mended = String::with_capacity(text.len());
    // Outside of strings, at every other part: an escaped quote would shift them, so those are stepped over.
    let (mut in_string, mut escaped, mut word) = (false, false, String::new());
    for character in text.chars() {
        if !in_string && (character.is_ascii_alphabetic() || character == '-') {
            word.push(character);
            continue;
        }
        if !word.is_empty() {
            let unreal = matches!(word.trim_start_matches('-'), "nan" | "inf");
            mended.push_str(if unreal { "null" } else { &word });
            word.clear();
        }
        if character == '"' && !escaped {
            in_string = !in_string;
        }
        escaped = in_string && character == '\\' && !escaped;
        mended.push(character);
    }
    let mended = mended.into_bytes();
    (mended != value).then_some(mended)
}

/// The name of the sum that fio's client puts among its jobs; it has no percentiles and a client's own host name.
const ALL_CLIENTS: &str = "All clients";

/// The jobs of a client's last status. With `--status-interval` fio's client prints one value at the end, with the jobs
/// of all its statuses one after the other and the sum of all clients after the first status only (3.33).
fn last_client_status(
    entries: Vec<WireJob>,
    options: Options,
    warnings: &mut Warnings,
) -> Vec<WireJob> {
    let is_sum = |entry: &WireJob| entry.jobname.0.as_deref() == Some(ALL_CLIENTS);
    let a_status = entries.iter().position(is_sum);
    let mut jobs: Vec<WireJob> = entries.into_iter().filter(|entry| !is_sum(entry)).collect();
    let all = jobs.len();
    match a_status {
        Some(a_status) if a_status > 0 => drop(jobs.drain(..all.saturating_sub(a_status))),
        // Without a sum there is one job only; its repetitions are statuses unless it was asked for several times.
        _ => {
            let key = |job: &WireJob| {
                (
                    job.hostname.clone(),
                    job.port,
                    job.jobname.clone(),
                    job.groupid,
                )
            };
            let one = all > 1
                && jobs
                    .iter()
                    .all(|job| key(job) == key(&jobs[0]) && !job.options.or(options).several);
            if one {
                jobs.drain(..all - 1);
            }
        }
    }
    if jobs.len() < all {
        warnings.push(Warning::EarlierClientStatuses);
    }
    jobs
}

fn read_job(wire: WireJob, global_options: Options, warnings: &mut Warnings) -> Job {
    let own_name = wire.jobname.0.unwrap_or_default();
    let name = match wire.hostname.0 {
        Some(host) => format!("{host}:{own_name}"),
        None => own_name,
    };
    let options = wire.options.or(global_options);
    let flows: Vec<&WireFlow> = [&wire.read, &wire.write, &wire.trim]
        .into_iter()
        .flatten()
        .collect();
    let warmup = warmup_of(&name, options, &flows, warnings);
    let runtime_ms = flows.iter().filter_map(|flow| flow.runtime.whole()).max();
    if wire
        .trim
        .is_some_and(|trim| trim.total_ios.whole().unwrap_or(0) > 0)
    {
        warnings.push(Warning::Trims { job: name.clone() });
    }
    if wire.read.is_none() && wire.write.is_none() {
        warnings.push(Warning::NoDirections { job: name.clone() });
    }
    let mut read = |flow: Option<WireFlow>| {
        flow.map_or_else(Flow::default, |flow| read_flow(flow, &name, warnings))
    };
    Job {
        error: wire
            .error
            .whole()
            .map_or(0, |error| i32::try_from(error).unwrap_or(i32::MAX)),
        runtime_ns: runtime_ms.unwrap_or(0).saturating_mul(1_000_000),
        read: read(wire.read),
        write: read(wire.write),
        cpu_fraction: wire
            .usr_cpu
            .real()
            .zip(wire.sys_cpu.real())
            .map(|(user, system)| (user + system) / 100.0),
        depth_levels: wire
            .iodepth_level
            .0
            .into_iter()
            .map(|(depth, percent)| (depth, percent / 100.0))
            .collect(),
        warmup,
        name,
    }
}

/// The share of a job's I/Os that have latencies by which its ramp is over; when all threads are measured it's about 1.
const TIMED: f64 = 0.75;

fn warmup_of(name: &str, options: Options, flows: &[&WireFlow], warnings: &mut Warnings) -> Warmup {
    let timed = |flow: &&WireFlow| {
        let all = [&flow.slat_ns, &flow.clat_ns, &flow.lat_ns];
        all.map(|latency| latency.samples.whole().unwrap_or(0))
            .into_iter()
            .max()
            .unwrap_or(0)
    };
    let samples: u64 = flows.iter().map(timed).fold(0, u64::saturating_add);
    let sent = flows
        .iter()
        .map(|flow| flow.total_ios.whole().unwrap_or(0))
        .fold(0, u64::saturating_add);
    let over = samples > 0 && samples as f64 >= TIMED * sent as f64;
    if !options.ramp || over {
        return Warmup::Over;
    }
    if options.no_total_latency && options.no_completion_latency {
        warnings.push(Warning::WarmupUnknown {
            job: name.to_owned(),
        });
        return Warmup::Over;
    }
    Warmup::On
}

fn read_flow(wire: WireFlow, job: &str, warnings: &mut Warnings) -> Flow {
    let mut known = |number: Number, key: &'static str| {
        if number.real().is_none() {
            warnings.push(Warning::BadNumber {
                job: job.to_owned(),
                key,
            });
        }
        number
    };
    let mut flow = Flow {
        ios: known(wire.total_ios, "total_ios").whole().unwrap_or(0),
        bytes: known(wire.io_bytes, "io_bytes").whole().unwrap_or(0),
        iops: known(wire.iops, "iops").real().unwrap_or(0.0),
        bytes_per_s: known(wire.bw_bytes, "bw_bytes").real().unwrap_or(0.0),
        latency_samples: wire.lat_ns.samples.whole().unwrap_or(0),
        ..Flow::default()
    };
    known(wire.runtime, "runtime");
    if flow.latency_samples > 0 {
        flow.latency_mean_ns = known(wire.lat_ns.mean, "lat_ns.mean").real();
        flow.latency_stddev_ns = known(wire.lat_ns.stddev, "lat_ns.stddev").real();
        flow.latency_max_ns = known(wire.lat_ns.max, "lat_ns.max").whole();
    }
    if wire.lat_ns.bins.beyond {
        warnings.push(Warning::BeyondLastBin {
            job: job.to_owned(),
        });
    }
    if wire.lat_ns.bins.bins.is_empty() && !wire.clat_ns.bins.bins.is_empty() {
        warnings.push(Warning::NoLatencyBins {
            job: job.to_owned(),
        });
    }
    flow.histogram = Histogram::from_bins(wire.lat_ns.bins.bins);
    flow
}
