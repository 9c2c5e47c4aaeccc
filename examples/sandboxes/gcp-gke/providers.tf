provider "google" {
  project        = var.project_id
  region         = var.region
  credentials    = var.gcp_credentials_base64 != "" ? base64decode(var.gcp_credentials_base64) : null
  default_labels = local.labels
}

# The service account that runs Terraform logs in to the cluster with its own token.
data "google_client_config" "current" {}

provider "kubernetes" {
  host                   = "https://${google_container_cluster.install.endpoint}"
  cluster_ca_certificate = base64decode(google_container_cluster.install.master_auth[0].cluster_ca_certificate)
  token                  = data.google_client_config.current.access_token
}

provider "helm" {
  kubernetes = {
    host                   = "https://${google_container_cluster.install.endpoint}"
    cluster_ca_certificate = base64decode(google_container_cluster.install.master_auth[0].cluster_ca_certificate)
    token                  = data.google_client_config.current.access_token
  }
}
