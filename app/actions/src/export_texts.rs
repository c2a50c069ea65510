//! Texts about an export, for the user.

/// The texts of an export of a view or table.
#[derive(Clone, Copy)]
pub struct ExportTexts {
    /// Name of the view or table.
    pub name: &'static str,
    /// Title of the dialog that asks for the file.
    pub(crate) title: &'static str,
    /// Suggested name of the file.
    pub(crate) file_name: &'static str,
}

impl ExportTexts {
    pub(crate) const fn new(
        name: &'static str,
        title: &'static str,
        file_name: &'static str,
    ) -> Self {
        Self {
            name,
            title,
            file_name,
        }
    }
}
