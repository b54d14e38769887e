//! `replay`: a request trace through one drive.

use std::sync::Arc;

use loadline_model::Error;
use loadline_model::device::disk::{Disk, Options, Request};
use loadline_model::drive::DriveDescription;
use loadline_model::sim::Way;
use loadline_model::units::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Service times in ns of requests that come one at a time: each so long after the end of the one before.
#[pyfunction]
#[pyo3(signature = (drive, writes, lbns, sectors, pauses_ns, host_sector_ns = None))]
#[allow(
    clippy::needless_pass_by_value,
    reason = "Python's lists come as values"
)]
pub fn replay(
    py: Python<'_>,
    drive: &str,
    writes: Vec<bool>,
    lbns: Vec<u64>,
    sectors: Vec<u32>,
    pauses_ns: Vec<u64>,
    host_sector_ns: Option<u64>,
) -> PyResult<Vec<u64>> {
    let count = writes.len();
    if [lbns.len(), sectors.len(), pauses_ns.len()] != [count; 3] {
        return Err(PyValueError::new_err("columns of different lengths"));
    }
    py.detach(|| {
        let (_, model) = DriveDescription::built(drive)?;
        let options = Options {
            host_sector_time: host_sector_ns.map(Time::from_ns),
            ..Options::default()
        };
        let mut disk = Disk::new(Arc::new(model), &options);
        let mut now = Time::ZERO;
        let mut services_ns = Vec::with_capacity(count);
        for index in 0..count {
            let request = Request {
                token: index as u64,
                way: if writes[index] { Way::Write } else { Way::Read },
                lbn: lbns[index],
                sectors: sectors[index],
            };
            let done_at = serve(&mut disk, now, request)?;
            services_ns.push((done_at - now).ns());
            now = done_at + Time::from_ns(pauses_ns[index]);
        }
        Ok(services_ns)
    })
    .map_err(|error: Error| PyValueError::new_err(error.to_string()))
}

/// When a request that comes to an idle drive is done.
fn serve(disk: &mut Disk, mut now: Time, request: Request) -> Result<Time, Error> {
    let refused = |_| {
        let Request {
            token,
            lbn,
            sectors,
            ..
        } = request;
        Error::Description {
            path: String::new(),
            why: format!("request {token} ({sectors} sectors from {lbn}) isn't on the drive"),
        }
    };
    disk.enqueue(now, request).map_err(refused)?;
    while let Some(started) = disk.start_next(now) {
        match started.completion {
            Some(completion) => return Ok(completion.done_at),
            None => now = started.free_at,
        }
    }
    unreachable!("a request that was taken is begun")
}
