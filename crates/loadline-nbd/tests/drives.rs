//! Drives that fail and return under a served disk array.

mod client;

use client::*;
use loadline_model::System;
use loadline_model::drive::DriveDescription;
use loadline_model::sim::Seed;
use loadline_model::system::SystemDescription;

const SIZE: u64 = 16 << 20;
const DISK: &str = include_str!("../../../python/loadline/catalog/systems/hdd-7k2.toml");
const DRIVE: &str = include_str!("../../../python/loadline/catalog/drives/sata-7k2-1tb.toml");

/// One disk with a volatile cache, or what settings make of it.
fn emulated(settings: &[(&str, &str)]) -> Served {
    let size = ("volume.size".to_owned(), "16MiB".to_owned());
    let owned = settings
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()));
    let settings: Vec<_> = owned.chain([size]).collect();
    let description = SystemDescription::from_toml(DISK, &settings).unwrap();
    let drive = DriveDescription::from_toml(DRIVE).unwrap();
    let system = System::new(description, Some(&drive)).unwrap();
    serve(SIZE, |setup| {
        setup.device = Box::new(system.emulate(Seed(1)).unwrap());
    })
}

#[test]
fn what_is_refused_while_its_drive_has_failed_is_not_there_when_it_returns() {
    let served = emulated(&[]);
    let mut client = Client::simple(&served.socket);
    assert_eq!(client.write(0, &[1; 4096]), Ok(()));
    assert!(served.server.fault("drive 0 fails").is_ok());
    assert_eq!(client.write(0, &[2; 4096]), Err(EIO));
    assert_eq!(client.ask(WRITE, FUA, 4096, 512, &[2; 512]), Err(EIO));
    assert_eq!(client.ask(WRITE_ZEROES, 0, 0, 4096, &[]), Err(EIO));
    assert_eq!(client.ask(TRIM, FUA, 0, 4096, &[]), Err(EIO));
    assert_eq!(client.flush(), Err(EIO));
    assert!(served.server.fault("drive 0 returns").is_ok());
    assert_eq!(client.read(0, 512), Ok(vec![1; 512]));
    assert_eq!(client.read(4096, 512), Ok(vec![0; 512]));
    assert_eq!(client.flush(), Ok(()));
    assert_eq!(served.server.stats().unwrap().in_flight, 0);
}

#[test]
fn an_order_that_cannot_strike_is_answered_with_the_reason() {
    let mirrored = [
        ("volume.layout", "raid1"),
        ("pool.drives", "2"),
        ("pool.rebuild_rate", "50MB/s"),
    ];
    let served = emulated(&mirrored);
    let uri = served.server.uri().to_owned();
    let order = |said: &str| loadline_nbd::ask(&uri, &format!("fault {said}"));
    let refused = |said: &str| order(said).unwrap_err().to_string();
    assert!(refused("drive 1 returns").contains("drive 1 hasn't failed"));
    assert!(refused("drive 1 is replaced").contains("drive 1 hasn't failed"));
    assert!(order("drive 1 fails").is_ok());
    assert!(refused("drive 1 fails").contains("has failed already"));
    assert!(order("drive 0 fails").is_ok());
    assert!(refused("drive 0 is replaced").contains("nothing to rebuild"));
    let told = served.server.events().unwrap();
    assert!(told[0].starts_with("drive 1 fails at"), "{told:?}");
    assert_eq!(told[1], "drive 1 has failed: raid1 is degraded");
    assert_eq!(told.len(), 4, "{told:?}");
}
