//! The house rules, applied to this repository. What each one catches is shown by the tests beside it, in
//! `support/tidy/`.

use callgrove_tests::tidy::{
    Finding, Repository, TextFile, assert_none, layers, manifests, purity, sources, texts,
};

fn repository() -> Repository {
    Repository::load().expect("the repository that the tests are in can be read")
}

fn in_rust_files(rule: fn(&TextFile) -> Vec<Finding>) -> Vec<Finding> {
    repository().rust_files().flat_map(rule).collect()
}

fn in_member_manifests(rule: fn(&TextFile) -> Vec<Finding>) -> Vec<Finding> {
    repository().member_manifests().flat_map(rule).collect()
}

fn in_all_files(rule: fn(&TextFile) -> Vec<Finding>) -> Vec<Finding> {
    repository().files.iter().flat_map(rule).collect()
}

#[test]
fn crates_use_only_the_crates_below_them() {
    assert_none(&layers::unknown_edges(&repository().members));
}

#[test]
fn packages_of_a_layer_stay_in_it() {
    assert_none(&layers::strayed_packages(&repository().members));
}

#[test]
fn every_member_takes_the_lints_of_the_house() {
    assert_none(&in_member_manifests(manifests::own_lints));
}

#[test]
fn every_member_takes_its_dependencies_from_the_workspace() {
    assert_none(&in_member_manifests(manifests::own_dependencies));
}

#[test]
fn every_third_party_dependency_has_a_reason() {
    let repository = repository();
    let root = repository.file("Cargo.toml").expect("it is a workspace");
    assert_none(&manifests::unexplained_dependencies(root));
}

#[test]
fn every_rust_file_begins_with_what_it_is_about() {
    assert_none(&in_rust_files(sources::missing_docs));
}

#[test]
fn no_file_is_too_long() {
    assert_none(&sources::long_files(repository().rust_files()));
}

#[test]
fn unsafe_code_stays_in_the_sys_crates() {
    assert_none(&in_rust_files(sources::stray_unsafe));
}

#[test]
fn nothing_is_left_unfinished() {
    assert_none(&in_rust_files(sources::unfinished));
}

#[test]
fn platforms_differ_by_whole_files() {
    assert_none(&in_rust_files(sources::scattered_platforms));
}

#[test]
fn plain_integers_name_their_unit() {
    assert_none(&in_rust_files(sources::missing_units));
}

#[test]
fn pure_crates_touch_nothing_outside() {
    assert_none(&in_rust_files(purity::reaches_outside));
}

#[test]
fn the_crate_map_names_every_member_once() {
    let repository = repository();
    let exists = |folder: &str| repository.root.join(folder).exists();
    let readme = repository.file("README.md");
    assert_none(&texts::crate_map(readme, &repository.members, exists));
}

#[test]
fn every_folder_of_data_tells_its_origin_and_licence() {
    let root = repository().root;
    for folder in ["assets", "tests/data"] {
        assert_none(&texts::unexplained_data(&root, folder).expect("the folder can be read"));
    }
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    assert_none(&in_all_files(texts::machine_paths));
}

#[test]
fn no_file_names_a_host_of_a_registry() {
    assert_none(&in_all_files(texts::registry_hosts));
}
