//! The repository's rules, applied to this repository. The tests in `support/tidy/` show what each rule catches.

use callgrove_tests::tidy::{
    Finding, Repository, TextFile, assert_none, facade, folder_cycles, import_cycles, layers,
    manifests, purity, ratchets, sources, texts, type_names,
};

fn repository() -> Repository {
    Repository::load().expect("the repository that the tests are in can be read")
}

fn documents(repository: &Repository) -> impl Iterator<Item = &TextFile> {
    let files = repository.files.iter();
    files.filter(|file| file.name().split('.').next_back() == Some("md"))
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

/// The document with the crate map.
fn crate_map(repository: &Repository) -> &TextFile {
    let map = repository.file(layers::CRATE_MAP);
    map.expect("the document with the crate map")
}

#[test]
fn crates_use_only_the_crates_below_them() {
    let repository = repository();
    let rows = layers::crate_rows(crate_map(&repository));
    assert_none(&layers::unknown_edges(&repository.members, &rows));
}

#[test]
fn the_tables_of_the_rules_name_only_members() {
    let repository = repository();
    let rows = layers::crate_rows(crate_map(&repository));
    assert_none(&layers::absent_members(&repository.members, &rows));
    let root = repository.file("Cargo.toml").expect("it is a workspace");
    assert_none(&manifests::absent_browser_crates(root, &repository.members));
}

#[test]
fn packages_of_a_layer_stay_in_it() {
    assert_none(&layers::strayed_packages(&repository().members));
}

#[test]
fn every_member_inherits_the_workspace_lints() {
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
fn every_rust_file_begins_with_a_description() {
    assert_none(&in_rust_files(sources::missing_docs));
}

#[test]
fn limits_hold_and_are_tight() {
    assert_none(&ratchets::loosened(&repository()));
}

#[test]
fn no_public_type_name_occurs_twice() {
    assert_none(&type_names::repeated_types(repository().rust_files()));
}

#[test]
fn the_glossary_names_types_that_exist() {
    let repository = repository();
    let glossary = repository.file("core/GLOSSARY.md").expect("the glossary");
    assert_none(&type_names::unknown_terms(
        glossary,
        repository.rust_files(),
    ));
}

#[test]
fn no_files_need_each_other() {
    let repository = repository();
    assert_none(&import_cycles::import_cycles(
        &repository.files,
        &repository.members,
    ));
}

#[test]
fn no_folders_need_each_other() {
    let repository = repository();
    assert_none(&folder_cycles::folder_cycles(
        &repository.files,
        &repository.members,
    ));
}

#[test]
fn files_name_siblings_and_not_the_facade_of_their_crate() {
    let repository = repository();
    assert_none(&facade::through_facade(
        &repository.files,
        &repository.members,
    ));
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
    let map = crate_map(&repository);
    assert_none(&texts::crate_map(map, &repository.members, exists));
}

#[test]
fn texts_name_only_existing_paths() {
    let repository = repository();
    let exists = |path: &str| repository.root.join(path).exists();
    let folders = repository
        .files
        .iter()
        .filter_map(|file| file.path.split_once('/'));
    let top_folders = folders.map(|(first, _)| first).collect();
    let findings: Vec<Finding> = documents(&repository)
        .flat_map(|file| texts::missing_paths(file, &top_folders, exists))
        .collect();
    assert_none(&findings);
}

#[test]
fn texts_link_only_to_existing_headings() {
    let repository = repository();
    let findings: Vec<Finding> = documents(&repository)
        .flat_map(|file| texts::missing_headings(file, &repository.files))
        .collect();
    assert_none(&findings);
}

#[test]
fn every_folder_of_data_states_its_origin_and_licence() {
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
