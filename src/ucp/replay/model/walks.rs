//! Random walks through the model, and some that are known.

use proptest::prelude::*;

use super::*;

fn step() -> impl Strategy<Value = Step> {
    let side = 0..2usize;
    let lane = 0..LANES;
    prop_oneof![
        8 => (side.clone(), any::<bool>(), lane.clone(), any::<bool>())
            .prop_map(|(side, bulk, lane, urgent)| Step::Post { side, bulk, lane, urgent }),
        10 => (side.clone(), lane.clone()).prop_map(|(side, lane)| Step::Move { side, lane }),
        2 => (side.clone(), lane.clone()).prop_map(|(side, lane)| Step::Begin { side, lane }),
        1 => (lane.clone(), 0..6usize).prop_map(|(lane, lose)| Step::Kill { lane, lose }),
        1 => (0..12usize).prop_map(|lose| Step::Fall { lose }),
        1 => Just(Step::Revive),
        1 => (side.clone(), lane.clone()).prop_map(|(side, lane)| Step::Repeat { side, lane }),
        1 => (side.clone(), lane.clone()).prop_map(|(side, lane)| Step::Notice { side, lane }),
        2 => (side.clone(), lane).prop_map(|(side, lane)| Step::Open { side, lane }),
        4 => side.clone().prop_map(|side| Step::Round { side }),
        1 => side.prop_map(|side| Step::GiveUp { side }),
    ]
}

/// Runs of the model: `UCX_RS_MODEL_CASES`, else few.
fn cases() -> u32 {
    let given = std::env::var("UCX_RS_MODEL_CASES");
    given.ok().and_then(|n| n.parse().ok()).unwrap_or(500)
}

#[test]
fn exactly_once_and_in_order() {
    let config = ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let steps = prop::collection::vec(step(), 1..250);
    proptest!(config, |(lanes in 1..=LANES, patient in any::<bool>(), steps in steps)| {
        Model::run(lanes, patient, &steps);
    });
}

/// The answer about a death doesn't come before the same lane dies again, of all lanes: what was on any of
/// their lives is sent again when there is peace.
#[test]
fn all_lanes_die_again_and_again_before_the_answer() {
    let mut model = Model::new(LANES);
    for life in 1..4 {
        for (side, lane) in model.ends() {
            let post = |bulk| Step::Post {
                side,
                bulk,
                lane,
                urgent: false,
            };
            model.step(post(false));
            model.step(post(true));
        }
        model.step(Step::Fall { lose: usize::MAX });
        model.step(Step::Revive);
        for (side, lane) in model.ends() {
            let live = model.sides[side].link.lanes.live(lane);
            let epoch = life + 1;
            assert_eq!(live, Some(LaneId { lane, epoch }), "side {side}");
        }
    }
    model.end();
}

/// The model can fail: a receiver that forgets what it has delivered is found out.
#[test]
#[should_panic(expected = "not in order")]
fn a_broken_receiver_is_found_out() {
    let mut model = Model::new(LANES);
    let post = Step::Post {
        side: 0,
        bulk: false,
        lane: 0,
        urgent: false,
    };
    model.step(post);
    model.step(Step::Repeat { side: 0, lane: 0 });
    *model.sides[1].link.rx(Channel::Ordered) = Receiver::new(Channel::Ordered);
    model.step(Step::Move { side: 0, lane: 0 });
}
