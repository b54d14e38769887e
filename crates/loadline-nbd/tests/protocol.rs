//! The protocol, as `doc/proto.md` of the project `NetworkBlockDevice/nbd` says it is.

mod client;

use client::*;
use loadline_model::emulation::Action;
use loadline_model::units::Time;
use loadline_nbd::{Fixed, Keep};
use std::io::Write;
use std::net::Shutdown;
use std::sync::mpsc::channel;

const SIZE: u64 = 1 << 20;
const UNSUPPORTED: u32 = (1 << 31) + 1;
const INVALID: u32 = (1 << 31) + 3;
const UNKNOWN: u32 = (1 << 31) + 6;
const TOO_BIG: u32 = (1 << 31) + 9;

#[test]
fn there_is_one_export_whose_name_is_empty_or_dsync() {
    let served = serve(SIZE, |_| {});
    let mut client = Client::knock(&served.socket);
    let durable = b"\0\0\0\x05dsync".to_vec();
    assert_eq!(
        client.option(3, &[]),
        [(2, vec![0; 4]), (2, durable), (1, vec![])]
    );
    assert_eq!(client.option(3, b"x").last().unwrap().0, INVALID);
    let other = [&3u32.to_be_bytes()[..], b"hdd", &[0, 0]].concat();
    assert_eq!(client.option(6, &other).last().unwrap().0, UNKNOWN);
    assert_eq!(client.option(7, &other).last().unwrap().0, UNKNOWN);
}

#[test]
fn info_tells_size_flags_title_and_block_sizes() {
    let served = serve(SIZE, |_| {});
    let mut client = Client::knock(&served.socket);
    let asked = [&[0; 4][..], &[0, 3], &[0, 1], &[0, 2], &[0, 3]].concat();
    let replies = client.option(6, &asked);
    let size = SIZE.to_be_bytes();
    // Flags, flush, FUA, trim, write zeroes, several connections, cache, fast zeroes; no DF without structured replies.
    let flags = 0b1101_0110_1101u16.to_be_bytes();
    assert_eq!(replies[0], (3, [&[0, 0], &size[..], &flags].concat()));
    assert_eq!(replies[1], (3, vec![0, 1]));
    assert_eq!(replies[2], (3, [&[0, 2], &b"a test"[..]].concat()));
    let sizes = [512u32, 4096, 32 << 20].map(u32::to_be_bytes).concat();
    assert_eq!(replies[3], (3, [&[0, 3], &sizes[..]].concat()));
    assert_eq!(replies[4], (1, vec![]));
    assert_eq!(client.option(6, &[0; 5]).last().unwrap().0, INVALID);
    assert_eq!(client.option(7, &[0; 7]).last().unwrap().0, INVALID);
}

#[test]
fn an_option_that_is_not_known_or_too_long_is_refused_and_the_next_one_answered() {
    let served = serve(SIZE, |_| {});
    let mut client = Client::knock(&served.socket);
    assert_eq!(client.option(5, &[]), [(UNSUPPORTED, vec![])]);
    assert_eq!(client.option(77, b"what?"), [(UNSUPPORTED, vec![])]);
    assert_eq!(client.option(6, &vec![0; 100_000]), [(TOO_BIG, vec![])]);
    assert_eq!(client.option(8, &[]), [(1, vec![])]);
}

#[test]
fn abort_is_acknowledged_and_ends_the_connection() {
    let served = serve(SIZE, |_| {});
    let mut client = Client::knock(&served.socket);
    assert_eq!(client.option(2, &[]), [(1, vec![])]);
    assert!(client.hung_up());
}

#[test]
fn export_name_begins_transmission_with_zeroes_for_who_wants_them() {
    let served = serve(SIZE, |_| {});
    let mut client = Client::knock(&served.socket);
    client.say_option(1, &[]);
    assert_eq!(client.bytes(10)[..8], SIZE.to_be_bytes());
    assert_eq!(client.read(0, 512), Ok(vec![0; 512]));

    let mut old = Client::knock_with(&served.socket, 0);
    old.say_option(1, &[]);
    assert_eq!(old.bytes(10 + 124)[10..], [0; 124]);
    assert_eq!(old.read(0, 512), Ok(vec![0; 512]));
}

#[test]
fn block_status_needs_structured_replies_and_a_context() {
    let served = serve(SIZE, |_| {});
    let mut client = Client::knock(&served.socket);
    let set = contexts(&["base:allocation"]);
    assert_eq!(client.option(10, &set).last().unwrap().0, INVALID);
    let all = client.option(9, &contexts(&[]));
    assert_eq!(all[0], (4, [&[0; 4], &b"base:allocation"[..]].concat()));
    assert_eq!(client.option(9, &contexts(&["base:"])).len(), 2);
    assert_eq!(client.option(9, &contexts(&["qemu:"])).len(), 1);
    assert_eq!(client.option(8, &[]), [(1, vec![])]);
    assert_eq!(client.option(10, &contexts(&["base:other"])).len(), 1);
    client.option(7, &[0; 6]);
    client.structured = true;
    assert_eq!(client.ask(BLOCK_STATUS, 0, 0, 512, &[]), Err(EINVAL));
}

#[test]
fn a_choice_of_contexts_ends_with_the_next_one_even_if_that_fails_and_is_of_one_export() {
    let served = serve(SIZE, |_| {});
    let empty = vec![0; 6];
    let dsync = b"\0\0\0\x05dsync\0\0".to_vec();
    let right = contexts(&["base:allocation"]);
    let unknown = b"\0\0\0\x04nope\0\0\0\0".to_vec();
    let cases = [
        (right.clone(), &empty, Ok(())),
        (right, &dsync, Err(EINVAL)),
        (unknown, &empty, Err(EINVAL)),
        (vec![0], &empty, Err(EINVAL)),
        (vec![0; 9000], &empty, Err(EINVAL)),
        (contexts(&[]), &empty, Err(EINVAL)),
    ];
    for (second, export, expected) in cases {
        let mut client = Client::knock(&served.socket);
        client.option(8, &[]);
        client.structured = true;
        client.option(10, &contexts(&["base:allocation"]));
        client.option(10, &second);
        assert_eq!(client.option(7, export).last().unwrap().0, 1);
        let status = client.ask(BLOCK_STATUS, 0, 0, 512, &[]);
        assert_eq!(status.map(|_| ()), expected, "{} bytes", second.len());
    }
}

#[test]
fn what_is_written_reads_back_with_simple_and_structured_replies_on_other_connections() {
    let served = serve(SIZE, |_| {});
    let mut one = Client::simple(&served.socket);
    let mut two = Client::structured(&served.socket);
    let data: Vec<u8> = (0..10_000u32).map(|it| (it % 251) as u8).collect();
    assert_eq!(one.write(5000, &data), Ok(()));
    assert_eq!(two.read(5000, 10_000).unwrap(), data);
    assert_eq!(two.read(4999, 2), Ok(vec![0, 0]));
    assert_eq!(two.ask(WRITE, FUA, 6000, 4, b"four"), Ok(vec![]));
    assert_eq!(one.read(6000, 4), Ok(b"four".to_vec()));
    assert_eq!(one.flush(), Ok(()));
    assert_eq!(one.ask(CACHE, 0, 0, 4096, &[]), Ok(vec![]));
}

#[test]
fn data_longer_than_any_buffer_comes_back_whole() {
    let served = serve(64 << 20, |_| {});
    let mut client = Client::structured(&served.socket);
    let data: Vec<u8> = (0..32u32 << 20)
        .map(|it| (it >> 9) as u8 ^ it as u8)
        .collect();
    assert_eq!(client.write(1 << 20, &data), Ok(()));
    assert!(client.read(1 << 20, 32 << 20).unwrap() == data);
}

#[test]
fn trims_and_zeroes_read_as_zeroes_and_are_told_as_zeroes_but_never_as_holes() {
    let served = serve(SIZE, |_| {});
    let mut client = Client::structured(&served.socket);
    assert_eq!(client.write(0, &vec![7; 64 << 10]), Ok(()));
    assert_eq!(client.ask(TRIM, 0, 8192, 8192, &[]), Ok(vec![]));
    assert_eq!(client.ask(WRITE_ZEROES, 0, 32_768, 4096, &[]), Ok(vec![]));
    assert_eq!(
        client.ask(WRITE_ZEROES, NO_HOLE | FUA, 40_000, 100, &[]),
        Ok(vec![])
    );
    assert_eq!(
        client.ask(WRITE_ZEROES, NO_HOLE, 128 << 10, 4096, &[]),
        Ok(vec![])
    );
    let data = client.read(0, 64 << 10).unwrap();
    let zero = |at: usize| {
        (8192..16_384).contains(&at)
            || (32_768..36_864).contains(&at)
            || (40_000..40_100).contains(&at)
    };
    assert!((0..64 << 10).all(|at| (data[at] == 0) == zero(at)));
    let extents = client.ask(BLOCK_STATUS, 0, 0, SIZE as u32, &[]).unwrap();
    let words: Vec<u32> = extents
        .chunks(4)
        .map(|it| u32::from_be_bytes(it.try_into().unwrap()))
        .collect();
    let rest = SIZE as u32 - 65_536;
    assert_eq!(
        words,
        [8192, 0, 8192, 2, 16_384, 0, 4096, 2, 28_672, 0, rest, 2]
    );
    let one = client.ask(BLOCK_STATUS, REQ_ONE, 8192, SIZE as u32 - 8192, &[]);
    assert_eq!(one.unwrap(), [0, 0, 32, 0, 0, 0, 0, 2]);
}

#[test]
fn block_status_of_many_extents_tells_the_first_ones_and_goes_on_where_it_ended() {
    let folder = tempfile::tempdir().unwrap();
    for kept in [false, true] {
        let served = serve(8 << 20, |setup| {
            if kept {
                setup.keep = Keep::File(folder.path().join("data"));
            }
        });
        let mut client = Client::structured(&served.socket);
        for at in (0..2u64 << 20).step_by(16_384) {
            assert_eq!(client.write(at, &[1; 8192]), Ok(()));
        }
        let (mut at, mut found) = (0u32, Vec::new());
        while at < 8 << 20 {
            let rest = (8 << 20) - at;
            let words = client.ask(BLOCK_STATUS, 0, at.into(), rest, &[]).unwrap();
            assert!(words.len() <= 64 * 8);
            for extent in words.chunks(8) {
                let bytes = u32::from_be_bytes(extent[..4].try_into().unwrap());
                found.push((at, extent[7] == 0));
                at += bytes;
            }
        }
        assert_eq!(at, 8 << 20);
        let expected: Vec<_> = (0..256).map(|it| (it * 8192, it % 2 == 0)).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn block_status_and_reads_that_are_asked_at_once_are_all_answered() {
    let served = serve(SIZE, |_| {});
    let mut client = Client::structured(&served.socket);
    let asked: Vec<_> = (0..300u64)
        .map(|it| {
            client.say(
                [READ, BLOCK_STATUS, BLOCK_STATUS][it as usize % 3],
                0,
                0,
                512,
            )
        })
        .collect();
    let mut answered: Vec<_> = asked.iter().map(|_| client.reply(512)).collect();
    answered.sort_by_key(|it| it.0);
    for ((cookie, result), asked) in answered.into_iter().zip(asked) {
        assert_eq!((cookie, result.is_ok()), (asked, true));
    }
}

#[test]
fn requests_beyond_the_end_fail_and_change_nothing() {
    let served = serve(SIZE, |_| {});
    for mut client in [
        Client::simple(&served.socket),
        Client::structured(&served.socket),
    ] {
        assert_eq!(client.read(SIZE - 512, 1024), Err(EINVAL));
        assert_eq!(client.read(u64::MAX - 100, 512), Err(EINVAL));
        assert_eq!(client.write(SIZE - 512, &[1; 1024]), Err(ENOSPC));
        assert_eq!(client.write(SIZE, &[1; 512]), Err(ENOSPC));
        assert_eq!(client.ask(TRIM, 0, SIZE - 512, 1024, &[]), Err(EINVAL));
        assert_eq!(client.ask(WRITE_ZEROES, 0, 1, u32::MAX, &[]), Err(ENOSPC));
        assert_eq!(client.read(SIZE - 512, 512), Ok(vec![0; 512]));
    }
    assert_eq!(served.server.stats().unwrap().stored_bytes, 0);
}

#[test]
fn requests_that_make_no_sense_are_refused_and_the_next_one_answered() {
    let served = serve(128 << 20, |_| {});
    let mut client = Client::simple(&served.socket);
    assert_eq!(client.ask(99, 0, 0, 512, &[]), Err(EINVAL));
    assert_eq!(client.ask(READ, 0x80, 0, 512, &[]), Err(EINVAL));
    let whole = |client: &mut Client| client.ask(READ, DF, 0, 512, &[]);
    assert_eq!(whole(&mut client), Err(EINVAL));
    assert!(whole(&mut Client::structured(&served.socket)).is_ok());
    assert_eq!(client.read(0, 0), Err(EINVAL));
    assert_eq!(client.ask(FLUSH, 0, 0, 512, &[]), Err(EINVAL));
    assert_eq!(client.read(0, (32 << 20) + 1), Err(EOVERFLOW));
    let long = vec![9; (32 << 20) + 1];
    assert_eq!(client.write(0, &long), Err(EOVERFLOW));
    assert_eq!(client.read(0, 512), Ok(vec![0; 512]));
    let stats = served.server.stats().unwrap();
    assert_eq!((stats.answers, stats.failed), (2, 7));
}

#[test]
fn a_client_that_says_goodbye_gets_the_answers_that_it_waits_for() {
    let served = serve(SIZE, |_| {});
    let mut client = Client::simple(&served.socket);
    let mut words = request(READ, 0, 1, 0, 512);
    words.extend(request(FLUSH, 0, 2, 0, 0));
    words.extend(request(DISCONNECT, 0, 3, 0, 0));
    client.stream.write_all(&words).unwrap();
    let mut answered = [client.reply(512).0, 0];
    answered[1] = client.reply(0).0;
    answered.sort_unstable();
    assert_eq!(answered, [1, 2]);
    assert!(client.hung_up());
}

#[test]
fn a_client_that_says_no_more_gets_the_answers_that_it_waits_for() {
    let served = serve(SIZE, |setup| {
        setup.device = Box::new(Fixed::new(Time::from_ms(20.0)));
    });
    let mut client = Client::simple(&served.socket);
    let read = client.say(READ, 0, 0, 512);
    let cut_off = client.say(WRITE, 0, 4096, 512);
    client.stream.write_all(&[1; 100]).unwrap();
    client.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.reply(512), (read, Ok(vec![0; 512])));
    assert_eq!(client.reply(0), (cut_off, Err(EIO)));
    assert!(client.hung_up());
}

#[test]
fn memory_that_is_full_refuses_data_and_takes_zeroes() {
    let served = serve(1 << 30, |setup| {
        setup.keep = Keep::Memory(1 << 20);
    });
    let mut client = Client::simple(&served.socket);
    assert_eq!(client.write(0, &vec![1; 2 << 20]), Err(ENOSPC));
    let stored = served.server.stats().unwrap().stored_bytes;
    assert!(stored <= 1 << 20, "{stored}");
    assert_eq!(client.write(512 << 20, &[0; 4096]), Ok(()));
    assert_eq!(client.ask(TRIM, 0, 0, 1 << 30, &[]), Ok(vec![]));
    assert_eq!(served.server.stats().unwrap().stored_bytes, 0);
    assert_eq!(client.write(512 << 20, &[1; 4096]), Ok(()));
}

#[test]
fn faults_hold_answers_back_and_fail_requests_until_they_are_over() {
    let served = serve(SIZE, |setup| {
        setup.faults = vec!["error 100% of writes".to_owned()];
    });
    let mut client = Client::simple(&served.socket);
    assert_eq!(client.write(0, &[1; 512]), Err(EIO));
    assert_eq!(client.read(0, 512), Ok(vec![0; 512]));
    let uri = served.server.uri().to_owned();
    assert!(loadline_nbd::ask(&uri, "fault clear").is_ok());
    assert_eq!(client.write(0, &[1; 512]), Ok(()));

    assert!(served.server.fault("freeze").is_ok());
    let held = client.say(READ, 0, 0, 512);
    let stats = loop {
        let stats = served.server.stats().unwrap();
        if stats.in_flight > 0 {
            break stats;
        }
    };
    assert_eq!(stats.active.len(), 1);
    assert!(served.server.fault("clear").is_ok());
    assert_eq!(client.reply(512), (held, Ok(vec![1; 512])));
    assert!(loadline_nbd::ask(&uri, "fault nonsense").is_err());
    assert!(
        loadline_nbd::ask(&uri, "stats")
            .unwrap()
            .contains("\"write_ios\": 1,")
    );
    assert!(!served.server.events().unwrap().is_empty());
}

#[test]
fn factors_whose_product_is_beyond_all_time_hold_an_answer_back_for_ever() {
    let served = serve(SIZE, |setup| {
        setup.device = Box::new(Fixed::new(Time::from_ns(1000)));
        setup.faults = vec!["latency x1000000".to_owned(); 4];
    });
    let mut slow = Client::simple(&served.socket);
    slow.say(READ, 0, 0, 512);
    while served
        .server
        .stats()
        .is_ok_and(|it| it.in_flight + it.answers == 0)
    {}
    assert!(served.server.fault("clear").is_ok());
    assert!(Client::simple(&served.socket).read(0, 512).is_ok());
    let stats = served.server.stats().unwrap();
    assert_eq!((stats.in_flight, stats.answers), (1, 1));
}

#[test]
fn under_the_name_dsync_every_write_is_followed_by_a_flush_before_it_is_answered() {
    for (number, data) in [(7, &b"\0\0\0\x05dsync\0\0"[..]), (1, &b"dsync"[..])] {
        let (to, asked) = channel();
        let served = serve(SIZE, |setup| {
            setup.device = Box::new(Listening::new(to));
        });
        let mut client = Client::knock(&served.socket);
        client.say_option(number, data);
        if number == 7 {
            assert_eq!(client.option_replies(7).last().unwrap().0, 1);
        } else {
            client.bytes(10);
        }
        client.ask(WRITE, 0, 4096, 512, &[1; 512]).unwrap();
        client.read(0, 512).unwrap();
        let asked: Vec<_> = asked.try_iter().map(|it| it.action).collect();
        assert_eq!(asked, [Action::Write, Action::Flush, Action::Read]);
    }
}

#[test]
fn a_device_is_asked_for_whole_sectors_and_for_a_flush_where_data_must_be_safe() {
    let (to, asked) = channel();
    let served = serve(SIZE, |setup| {
        setup.device = Box::new(Listening::new(to));
    });
    let mut client = Client::structured(&served.socket);
    client.write(513, &[1; 100]).unwrap();
    client.read(0, 4096).unwrap();
    client.ask(WRITE, FUA, 4096, 512, &[1; 512]).unwrap();
    client.flush().unwrap();
    client.ask(TRIM, 0, 100, 1000, &[]).unwrap();
    client.ask(BLOCK_STATUS, 0, 0, 512, &[]).unwrap();
    assert_eq!(client.read(SIZE, 512), Err(EINVAL));
    let asked: Vec<_> = asked
        .try_iter()
        .map(|it| (it.action, it.address, it.bytes))
        .collect();
    let expected = [
        (Action::Write, 512, 512),
        (Action::Read, 0, 4096),
        (Action::Write, 4096, 512),
        (Action::Flush, 0, 0),
        (Action::Flush, 0, 0),
        (Action::Trim, 0, 1536),
    ];
    assert_eq!(asked, expected);
}
