//! Parameter files.

use callgrove_detect::{Algorithm, DetectError, Params};

#[test]
fn files_of_chimbuko_can_be_read() {
    let text = r#"{"algorithm": "copod", "sstd_sigma": 12, "hbos_thres": 0.98, "glob_thres": false, "hbos_max_bins": 100}"#;
    let expected = Params {
        algorithm: Algorithm::Copod,
        severe_us: 15_000.0,
        hbos_threshold: 0.98,
        sstd_sigma: 12.0,
        max_bins: 100,
        use_global_threshold: false,
    };
    assert_eq!(Params::from_json(text), Ok(expected));
    let short = Params::from_json(r#"{"algorithm": "sstd"}"#).unwrap();
    assert_eq!((short.algorithm, short.sstd_sigma), (Algorithm::Sstd, 6.0));
    let written = serde_json::to_string(&expected).unwrap();
    assert_eq!(Params::from_json(&written), Ok(expected));
}

#[test]
fn errors_name_the_invalid_part() {
    for (text, named) in [
        (r#"{"algorithm": "hbos", "hbos_bins": 20}"#, "hbos_bins"),
        (r#"{"algorithm": "lof"}"#, "lof"),
        (r#"{"sstd_sigma": "six"}"#, "six"),
        ("", "EOF"),
    ] {
        let error = Params::from_json(text).unwrap_err().to_string();
        assert!(
            error.contains(named) && error.contains("glob_thres"),
            "{error}"
        );
    }
}

#[test]
fn values_out_of_bounds_are_refused_by_name() {
    let good = Params::default();
    assert!(good.check().is_ok());
    let check = |params: Params, wanted: &str| match params.check() {
        Err(DetectError::InvalidParam { name, .. }) => assert_eq!(name, wanted),
        other => panic!("{wanted}: {other:?}"),
    };
    for hbos_threshold in [-0.1, 1.1, f64::NAN] {
        check(
            Params {
                hbos_threshold,
                ..good
            },
            "hbos_thres",
        );
    }
    for severe_us in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        check(Params { severe_us, ..good }, "excess_severe_us");
    }
    for sstd_sigma in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        check(Params { sstd_sigma, ..good }, "sstd_sigma");
    }
    for max_bins in [0, 64, 65_537] {
        check(Params { max_bins, ..good }, "hbos_max_bins");
    }
}

#[test]
fn thresholds_of_functions_have_the_range_of_the_algorithm() {
    let params = |algorithm| {
        Params {
            algorithm,
            ..Params::default()
        }
        .check()
        .unwrap()
    };
    assert_eq!(params(Algorithm::Excess).check_threshold(5e3), Ok(5e3));
    assert!(params(Algorithm::Excess).check_threshold(0.0).is_err());
    assert_eq!(params(Algorithm::Sstd).check_threshold(12.0), Ok(12.0));
    assert!(params(Algorithm::Sstd).check_threshold(0.0).is_err());
    assert_eq!(params(Algorithm::Hbos).check_threshold(0.999), Ok(0.999));
    assert!(params(Algorithm::Copod).check_threshold(12.0).is_err());
}

#[test]
fn algorithms_have_one_name_each() {
    for algorithm in Algorithm::ALL {
        assert_eq!(algorithm.to_string().parse(), Ok(algorithm));
    }
    let error = "HBOS".parse::<Algorithm>().unwrap_err().to_string();
    assert!(error.contains("HBOS") && error.contains("copod"), "{error}");
}
