//! Messages by hand, from which mutations start.

/// Messages by hand, from which mutations start: one of each type, around what they are for.
pub fn seeds() -> Vec<Vec<u8>> {
    use ucx::ucp::wire::am as id;
    // Posts: what, kind, tag, length.
    let recv = |kind: u8, tag: u8, len: u8| vec![0, 0, kind, tag, len];
    let send = |what: u8, kind: u8, tag: u8, len: &[u8]| {
        let mut bytes = vec![0, what, kind, tag];
        bytes.extend_from_slice(len);
        bytes
    };
    let message = |id: u8, patches: &[(u8, u8)], body: &[u8]| {
        let mut bytes = vec![200, id, patches.len() as u8];
        for (at, what) in patches {
            bytes.extend_from_slice(&[*at, *what]);
        }
        bytes.push(body.len() as u8);
        bytes.extend_from_slice(body);
        bytes
    };
    let long = [230, 0];
    let progress = vec![50];
    let u64s =
        |values: &[u64]| -> Vec<u8> { values.iter().flat_map(|v| v.to_ne_bytes()).collect() };
    // An identity at the end of a header: worker (patched), connection, sequence.
    let identity = |mut body: Vec<u8>, seq: u64| {
        body.extend_from_slice(&u64s(&[0]));
        body.extend_from_slice(&0u32.to_ne_bytes());
        body.extend_from_slice(&u64s(&[seq]));
        body
    };
    let with = |mut body: Vec<u8>, payload: &[u8]| {
        body.extend_from_slice(payload);
        body
    };
    let rts = |tag: u64, total: u64, op: u64| {
        let mut body = u64s(&[tag, total, op, 0]);
        body.extend_from_slice(&0u32.to_ne_bytes());
        identity(body, 9)
    };
    let first = |tag: u64, total: u64| identity(u64s(&[tag, total, 0]), 5);
    let middle = |offset: u64| identity(u64s(&[offset]), 5);
    let data = |op: u64, offset: u64| with(u64s(&[op, offset]), &0u32.to_ne_bytes());
    let rtr = |op: u64, to: u64, offset: u64| with(u64s(&[op, to, offset]), &0u32.to_ne_bytes());
    let am_head = |id: u64, header: u64, reply: u64| id | reply << 16 | header << 32;
    let other = |what: u8, kind: u8, at: u8, len: &[u8]| with(vec![148, what, kind, at], len);
    // An identity at the beginning.
    let identity_first = |rest: Vec<u8>| with(identity(Vec::new(), 0), &rest);
    let get = |len: u64| identity_first(u64s(&[0, 0, 0, len, 0]));
    let hello = |conn: u32| with(conn.to_ne_bytes().to_vec(), &[0; 8]);
    let mut programs: Vec<Vec<Vec<u8>>> = vec![
        vec![
            recv(0, 7, 40),
            message(id::EAGER_ONLY, &[], &with(u64s(&[7]), b"hello")),
        ],
        vec![
            message(id::EAGER_ONLY, &[], &with(u64s(&[7]), b"early")),
            recv(1, 7, 3),
        ],
        vec![
            recv(2, 7, 100),
            message(id::EAGER_FIRST, &[(24, 0)], &with(first(7, 30), &[1; 10])),
            message(id::EAGER_MIDDLE, &[(8, 0)], &with(middle(10), &[2; 10])),
            message(id::EAGER_MIDDLE, &[(8, 0)], &with(middle(20), &[3; 10])),
        ],
        vec![
            message(id::EAGER_FIRST, &[(24, 0)], &with(first(7, 30), &[1; 10])),
            vec![72, 7, 100, 0],
            message(id::EAGER_MIDDLE, &[(8, 0)], &with(middle(10), &[2; 20])),
        ],
        vec![
            message(
                id::SYNC_ONLY,
                &[(24, 0), (16, 128)],
                &with(first(7, 4), b"sync"),
            ),
            recv(0, 7, 9),
            progress.clone(),
        ],
        vec![
            send(4, 0, 9, &[20]),
            message(id::SYNC_ACK, &[(0, 128)], &with(u64s(&[0]), &[0])),
        ],
        vec![
            recv(0, 7, 200),
            message(id::RTS, &[(36, 0), (16, 128)], &rts(7, 100, 0)),
            message(id::RNDV_DATA, &[(0, 128)], &with(data(0, 0), &[4; 60])),
            message(id::RNDV_DATA, &[(0, 128)], &with(data(0, 60), &[5; 40])),
        ],
        vec![
            recv(0, 7, 200),
            message(id::RTS, &[(36, 0), (16, 128)], &rts(7, 100, 0)),
            with(vec![130, id::RNDV_DATA, 25, 1, 0, 128, 20], &data(0, 0)),
        ],
        vec![
            send(3, 0, 9, &long),
            progress.clone(),
            message(id::RTR, &[(0, 128), (8, 129)], &rtr(0, 0, 5)),
            progress.clone(),
            message(id::ATS, &[(0, 128)], &with(u64s(&[0]), &[0])),
        ],
        vec![
            send(3, 1, 9, &long),
            recv(2, 9, 250),
            progress.clone(),
            progress.clone(),
            progress.clone(),
        ],
        vec![
            message(
                id::AM_ONLY,
                &[],
                &with(u64s(&[am_head(0, 3, 0)]), b"heddata"),
            ),
            vec![80, 0, 1, 50],
        ],
        vec![
            message(
                id::AM_ONLY,
                &[(8, 0)],
                &with(with(u64s(&[am_head(2, 3, 1), 0]), &[0; 4]), b"heddata"),
            ),
            message(id::AM_ONLY, &[], &with(u64s(&[am_head(3, 0, 0)]), b"old")),
        ],
        vec![
            message(
                id::AM_FIRST,
                &[(16, 0)],
                &with(identity(u64s(&[am_head(1, 2, 1), 30]), 5), &[1; 12]),
            ),
            message(id::AM_MIDDLE, &[(8, 0)], &with(middle(10), &[2; 20])),
            vec![80, 0, 0, 0],
        ],
        vec![
            message(
                id::AM_RTS,
                &[(36, 0), (16, 128)],
                &with(rts(am_head(1, 2, 0), 50, 0), b"hd"),
            ),
            vec![80, 0, 1, 60],
            message(id::RNDV_DATA, &[(0, 128)], &with(data(0, 0), &[4; 50])),
        ],
        vec![
            send(0x47, 0, 1, &[60]),
            progress.clone(),
            progress.clone(),
            vec![80, 0, 1, 60],
            progress.clone(),
            progress.clone(),
        ],
        vec![
            vec![112, 1, 3, 255, 0, 0],
            send(3, 0, 1, &[9]),
            vec![112, 0, 3, 255, 0, 0],
            vec![112, 2, 3, 255, 0, 0],
            vec![112, 3, 3, 1, 1, 1, 0, 255, 0, 0],
            vec![112, 3, 3, 1, 2, 2, 1, 255, 0, 0],
            vec![112, 4, 3, 1, 2, 255, 0, 0],
            vec![112, 4, 3, 2, 1, 255, 0, 0],
            vec![120, 1],
            vec![124],
        ],
        vec![message(
            id::STREAM,
            &[(0, 0)],
            &with(with(u64s(&[0]), &[0; 4]), b"bytes"),
        )],
        vec![
            message(
                id::PUT,
                &[(0, 96), (8, 105), (16, 0)],
                &with(with(u64s(&[0, 0, 0]), &[0; 4]), b"put"),
            ),
            other(0, 0, 1, &[40]),
            other(1, 2, 1, &long),
            progress.clone(),
        ],
        vec![
            other(1, 0, 0, &[90]),
            message(id::GET, &[(0, 0), (20, 128), (28, 96), (36, 104)], &get(60)),
            message(id::RNDV_DATA, &[(0, 128)], &with(data(0, 0), &[4; 60])),
            message(
                id::ONE_SIDED_ANSWER,
                &[(0, 128)],
                &with(u64s(&[0]), &[0xff]),
            ),
        ],
        vec![
            other(5, 3, 1, &[1]),
            message(
                id::ATOMIC,
                &[(0, 0), (20, 128), (28, 96), (36, 106)],
                &with(identity_first(u64s(&[0, 0, 0, 5, 6])), &[2, 8]),
            ),
            message(id::ATOMIC_REPLY, &[(0, 128)], &with(u64s(&[0, 7]), &[0])),
            progress.clone(),
        ],
        vec![
            other(0, 1, 2, &long),
            send(5, 0, 0, &[0]),
            message(
                id::FLUSH,
                &[(0, 128), (8, 0)],
                &with(u64s(&[0, 0]), &[0; 4]),
            ),
            message(id::ONE_SIDED_ANSWER, &[(0, 128)], &with(u64s(&[0]), &[0])),
            progress.clone(),
        ],
        vec![
            other(2, 0, 0, &long),
            other(3, 1, 0, &[200]),
            message(
                id::STREAM,
                &[(0, 0)],
                &with(with(u64s(&[0]), &[0; 4]), b"more bytes"),
            ),
            other(4, 0, 0, &[0]),
            progress.clone(),
        ],
        vec![
            with(
                vec![158],
                &message(0, &[(4, 0)], &with(hello(1 << 31), &[1; 40]))[2..],
            ),
            with(vec![158], &message(0, &[], &[0xf0])[2..]),
        ],
        vec![
            send(5, 0, 0, &[0]),
            send(6, 0, 0, &[0]),
            send(3, 0, 0, &long),
            vec![127, 1],
            progress.clone(),
        ],
    ];
    // Each, over both sets of transports.
    programs.extend(programs.clone());
    let half = programs.len() / 2;
    programs
        .into_iter()
        .enumerate()
        .map(|(i, actions)| {
            let mut bytes = vec![if i < half { 0 } else { 15 }];
            bytes.extend(actions.concat());
            bytes
        })
        .collect()
}
