//! Measured request traces, replayed through the disk that they were measured on. Used by a test and by the example `replay`.
//!
//! A trace has a line a request: R or W, the cache's action, first sector, sectors, measured service time in µs, and µs from
//! its end to the next arrival. So one request is outstanding at most, and the distributions of service times are compared,
//! not single requests: the angle of the real platters isn't known.

use loadline_model::Error;
use loadline_model::device::disk::{Disk, Model, Options, Request};
use loadline_model::drive::{Converted, from_disksim};
use loadline_model::sim::Way;
use loadline_model::units::Time;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the drives hung on when they were measured, where that is slower than the drive: trace, time of a sector.
/// Source: bus BUS1 of the set-up that DiskSim 4.0 publishes for the trace (`valid/NAME.parv`, block transfer times).
const HOSTS: &[(&str, u64)] = &[
    ("dec_rz26", 70_690),
    ("hp_c2247a", 170_100),
    ("hp_c2490a", 148_410),
    ("hp_c3323a", 145_500),
    ("st41601n", 95_520),
];

/// One request of a trace.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    pub way: Way,
    pub lbn: u64,
    pub sectors: u32,
    pub service: Time,
    pub pause: Time,
}

/// A trace with its drive.
pub struct Case {
    pub name: String,
    pub rows: Vec<Row>,
    pub drive: Converted,
    pub host: Option<Time>,
}

/// What a replay has shown.
#[derive(Debug, Clone, Copy)]
#[allow(
    clippy::struct_field_names,
    reason = "the unit stands last in every number"
)]
pub struct Demerit {
    pub measured_ms: f64,
    pub modelled_ms: f64,
    /// Root mean square horizontal distance between the two distributions (Ruemmler and Wilkes 1994).
    pub rms_ms: f64,
}

impl Demerit {
    pub fn percent(&self) -> f64 {
        100.0 * self.rms_ms / self.measured_ms
    }
}

/// All traces of a folder that have a drive beside them, in order of their names.
pub fn cases(folder: &Path) -> Result<Vec<Case>, String> {
    let mut traces: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(|error| format!("{}: {error}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "trace")
        })
        .collect();
    traces.sort();
    let cases = traces.iter().map(|path| case(folder, path));
    cases.filter_map(Result::transpose).collect()
}

fn case(folder: &Path, path: &Path) -> Result<Option<Case>, String> {
    let name = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    // The one that was made for the trace first.
    let ends = [
        "_validate.diskspecs",
        ".diskspecs",
        "_validate.model",
        ".model",
    ];
    let file = ends
        .iter()
        .map(|end| format!("{name}{end}"))
        .find(|file| folder.join(file).exists());
    let Some(file) = file else { return Ok(None) };
    let mut read = |file: &str| std::fs::read_to_string(folder.join(file)).ok();
    let drive = from_disksim(&file, &mut read).map_err(|error: Error| error.to_string())?;
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let rows = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| {
            row(line).ok_or_else(|| format!("{name}.trace:{}: no request", index + 1))
        })
        .collect::<Result<_, _>>()?;
    let host = HOSTS
        .iter()
        .find(|host| host.0 == name)
        .map(|host| Time::from_ns(host.1));
    Ok(Some(Case {
        name,
        rows,
        drive,
        host,
    }))
}

fn row(line: &str) -> Option<Row> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let &[way, _, lbn, sectors, service, pause] = fields.as_slice() else {
        return None;
    };
    let micros =
        |text: &str| -> Option<Time> { Some(Time::from_ms(text.parse::<f64>().ok()? / 1000.0)) };
    Some(Row {
        way: match way {
            "R" => Way::Read,
            "W" => Way::Write,
            _ => return None,
        },
        lbn: lbn.parse().ok()?,
        sectors: sectors.parse().ok()?,
        service: micros(service)?,
        pause: micros(pause)?,
    })
}

/// Modelled service times of a trace's requests, and whether each was served from the buffer.
pub fn replay(case: &Case, phase: u32) -> Result<Vec<(Time, bool)>, String> {
    let model = Model::new(&case.drive.description).map_err(|error| error.to_string())?;
    let options = Options {
        phase,
        host_sector_time: case.host,
        ..Options::default()
    };
    let mut disk = Disk::new(Arc::new(model), &options);
    let mut now = Time::ZERO;
    let mut services = Vec::with_capacity(case.rows.len());
    for (row, token) in case.rows.iter().zip(0..) {
        let request = Request {
            token,
            way: row.way,
            lbn: row.lbn,
            sectors: row.sectors,
        };
        disk.enqueue(now, request)
            .map_err(|refused| format!("{}: request {token} is refused: {refused:?}", case.name))?;
        let arrived = now;
        let completion = loop {
            let started = disk.start_next(now).ok_or("the disk lost a request")?;
            match started.completion {
                Some(completion) => break completion,
                None => now = started.free_at,
            }
        };
        services.push((completion.done_at - arrived, completion.hit));
        now = completion.done_at + row.pause;
    }
    Ok(services)
}

/// Compares the distributions of service times.
pub fn demerit(case: &Case, services: &[(Time, bool)]) -> Demerit {
    let mut measured: Vec<f64> = case.rows.iter().map(|row| row.service.ms()).collect();
    let mut modelled: Vec<f64> = services.iter().map(|service| service.0.ms()).collect();
    measured.sort_by(f64::total_cmp);
    modelled.sort_by(f64::total_cmp);
    let count = measured.len() as f64;
    let squares: f64 = measured
        .iter()
        .zip(&modelled)
        .map(|(a, b)| (a - b).powi(2))
        .sum();
    Demerit {
        measured_ms: measured.iter().sum::<f64>() / count,
        modelled_ms: modelled.iter().sum::<f64>() / count,
        rms_ms: (squares / count).sqrt(),
    }
}
