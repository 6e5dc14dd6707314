//! Medians, percentiles and ratios of plain numbers, and the keys that programs read.

use super::*;

fn samples(of: &[f64]) -> Samples {
    Samples(of.to_vec())
}

#[test]
fn the_median_leaves_the_warm_up_out() {
    for (of, middle) in [
        (&[][..], 0.0),
        (&[9.0], 0.0),
        (&[9.0, 1.0], 1.0),
        (&[9.0, 5.0, 1.0, 3.0], 3.0),
        (&[9.0, 1.0, 4.0, 2.0, 100.0], 3.0),
    ] {
        assert!((samples(of).median() - middle).abs() < 1e-9, "{of:?}");
    }
    assert_eq!(samples(&[9.0, 1.0]).last(), Some(1.0));
}

#[test]
fn percentiles_are_values_that_were_seen() {
    let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
    for (percent, value) in [(50, 50.0), (99, 99.0), (100, 100.0)] {
        assert!((percentile(&hundred, percent) - value).abs() < 1e-9, "{percent}");
    }
    assert!((percentile(&[7.0], 99) - 7.0).abs() < 1e-9);
    assert!(percentile(&[], 50).abs() < 1e-9);
}

#[test]
fn a_ratio_compares_medians_and_never_divides_by_nothing() {
    let pair = Pair {
        floor: samples(&[1.0, 100.0, 90.0, 200.0]),
        engine: samples(&[1.0, 80.0, 10.0, 500.0]),
        batch: Samples::default(),
    };
    assert!((pair.ratio() - 0.8).abs() < 1e-9);
    assert!(Pair::default().ratio().abs() < 1e-9);
}

#[test]
fn every_question_has_its_keys_at_both_durabilities() {
    let json = Value::Object(Figures::default().json());
    let keys = |value: &Value| -> Vec<String> {
        value.as_object().expect("an object").keys().cloned().collect()
    };
    let outside = ["flush_append_per_s", "flush_overwrite_per_s", "full", "relaxed", "rounds"];
    assert_eq!(keys(&json), outside);
    let mut inside: Vec<String> = ["enqueue", "enqueue_32_threads", "bulk", "drain_1", "drain_8"]
        .iter()
        .flat_map(|key| {
            [
                format!("floor_{key}_per_s"),
                format!("engine_{key}_per_s"),
                format!("engine_{key}_batch"),
                format!("ratio_{key}"),
            ]
        })
        .chain(["engine_start_latency_p50_us", "engine_start_latency_p99_us"].map(str::to_owned))
        .collect();
    inside.sort();
    for column in ["full", "relaxed"] {
        let mut keys = keys(&json[column]);
        keys.sort();
        assert_eq!(keys, inside, "{column}");
        assert!(json[column].as_object().expect("an object").values().all(Value::is_number));
    }
}
