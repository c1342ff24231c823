//! Files that tell a client where the API server is and who it speaks as.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::{Cluster, token};

impl Cluster {
    /// A kubeconfig of one of the users, straight to the API server.
    pub fn kubeconfig(&self, user: &str) -> Result<PathBuf> {
        self.kubeconfig_at(&self.url(), user)
    }

    /// A kubeconfig of one of the users by way of another server, such as a proxy.
    pub fn kubeconfig_at(&self, server: &str, user: &str) -> Result<PathBuf> {
        self.kubeconfig_with(server, user, &token(user), "default")
    }

    /// A kubeconfig of a service account, with a token that the API server made for it.
    pub fn kubeconfig_of_account(&self, server: &str, namespace: &str, account: &str) -> Result<PathBuf> {
        let arguments = ["create", "token", account, "--namespace", namespace, "--duration", "24h"];
        let token = self.kubectl("admin", &arguments)?.success()?;
        self.kubeconfig_with(server, &format!("{namespace}.{account}"), token.trim(), namespace)
    }

    fn kubeconfig_with(&self, server: &str, user: &str, token: &str, namespace: &str) -> Result<PathBuf> {
        let place: String = server.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
        let path = self.folder().join(format!("{user}.{place}.kubeconfig"));
        let authority = self.folder().join("ca.crt");
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: {user}\n\
             clusters: [{{name: test, cluster: {{server: '{server}', certificate-authority: '{}'}}}}]\n\
             users: [{{name: {user}, user: {{token: {token}}}}}]\n\
             contexts: [{{name: {user}, context: {{cluster: test, user: {user}, namespace: {namespace}}}}}]\n",
            authority.display()
        );
        // Another test may be reading the same file: it appears as a whole.
        let mut aside = tempfile::NamedTempFile::new_in(self.folder())?;
        aside.write_all(text.as_bytes())?;
        aside.persist(&path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }
}
