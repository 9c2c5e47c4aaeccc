# APIs that the sandbox uses. They stay enabled: others in the project may use them, too.

resource "google_project_service" "api" {
  for_each = toset(local.apis)

  project                    = var.project_id
  service                    = each.value
  disable_on_destroy         = false
  disable_dependent_services = false
}

locals {
  apis = ["artifactregistry.googleapis.com", "compute.googleapis.com", "container.googleapis.com", "dns.googleapis.com"]
}
