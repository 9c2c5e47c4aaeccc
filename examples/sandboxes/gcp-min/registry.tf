# The registry of the install, to which nuon copies artifacts and images. Google encrypts it with its own keys.

locals {
  registry = "${var.region}-docker.pkg.dev"
}

resource "google_artifact_registry_repository" "install" {
  project       = var.project_id
  location      = var.region
  repository_id = local.prefix
  description   = "Artifacts of install ${var.nuon_id}"
  format        = "DOCKER"

  # What has lost its tag is no longer referred to by a component.
  cleanup_policies {
    id     = "untagged"
    action = "DELETE"

    condition {
      tag_state  = "UNTAGGED"
      older_than = "2592000s"
    }
  }

  depends_on = [google_project_service.api]
}
