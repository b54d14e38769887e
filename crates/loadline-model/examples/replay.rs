//! Replays measured request traces through the disks that they were measured on, and prints how far the model is off.
//!
//! `cargo run --release -p loadline-model --example replay -- --data DIR [--classes]`

#[path = "../tests/replay/mod.rs"]
mod replay;

use loadline_model::sim::Way;
use loadline_model::units::Time;
use replay::{Case, cases, demerit};
use std::collections::BTreeMap;
use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let data = arguments
        .windows(2)
        .find(|pair| pair[0] == "--data")
        .map(|pair| pair[1].as_str());
    let Some(data) = data else {
        eprintln!("usage: replay --data DIR [--classes]");
        std::process::exit(2);
    };
    let classes = arguments.iter().any(|argument| argument == "--classes");
    if let Err(why) = run(Path::new(data), classes) {
        eprintln!("{why}");
        std::process::exit(2);
    }
}

fn run(data: &Path, classes: bool) -> Result<(), String> {
    println!("trace          requests  measured ms  modelled ms  rms ms  rms %");
    for case in cases(data)? {
        let services = replay::replay(&case, 0)?;
        let figure = demerit(&case, &services);
        println!(
            "{:<14} {:>8}  {:>11.3}  {:>11.3}  {:>6.3}  {:>5.2}",
            case.name,
            case.rows.len(),
            figure.measured_ms,
            figure.modelled_ms,
            figure.rms_ms,
            figure.percent(),
        );
        if classes {
            print_classes(&case, &services);
        }
        for warning in &case.drive.warnings {
            eprintln!("  {warning}");
        }
    }
    Ok(())
}

/// Requests by kind, by the kind before, and by distance from the end of the one before.
fn print_classes(case: &Case, services: &[(Time, bool)]) {
    let mut classes: BTreeMap<String, Vec<(f64, f64, bool)>> = BTreeMap::new();
    for (pair, service) in case.rows.windows(2).zip(&services[1..]) {
        let (before, row) = (pair[0], pair[1]);
        let from = before.lbn + u64::from(before.sectors);
        let place = match row.lbn.abs_diff(from) {
            0 => "next",
            _ if row.lbn >= before.lbn && row.lbn < from => "again",
            1..300 if row.lbn > from => "within 300 ahead",
            1..300 => "within 300 behind",
            _ => "far",
        };
        let name = |way: Way| if way == Way::Read { "read" } else { "write" };
        classes
            .entry(format!(
                "{} after {}, {place}",
                name(row.way),
                name(before.way)
            ))
            .or_default()
            .push((row.service.ms(), service.0.ms(), service.1));
    }
    println!(
        "  class                                 requests  modelled hits  measured ms  modelled ms"
    );
    for (class, rows) in classes {
        let count = rows.len() as f64;
        println!(
            "  {class:<36}  {:>8}  {:>13}  {:>11.3}  {:>11.3}",
            rows.len(),
            rows.iter().filter(|row| row.2).count(),
            rows.iter().map(|row| row.0).sum::<f64>() / count,
            rows.iter().map(|row| row.1).sum::<f64>() / count,
        );
    }
}
