# The machine of the runner, which accepts no connections.

data "google_compute_zones" "this" {
  region     = var.region
  depends_on = [google_project_service.this]
}

locals {
  zone = sort(data.google_compute_zones.this.names)[0]

  # The runner reports them to the control plane.
  outputs = { for name, value in merge(local.secret_outputs, {
    project_id                   = var.project_id
    region                       = var.region
    network_name                 = local.network_name
    network_id                   = local.network_id
    public_subnet_name           = local.public_subnet
    private_subnet_name          = local.private_subnet
    public_subnet_names          = [local.public_subnet]
    private_subnet_names         = [local.private_subnet]
    runner_subnet_name           = local.runner_subnet
    runner_service_account_email = google_service_account.runner.email
    gke_node_pool_sa_email       = google_service_account.gke_nodes.email
    provision_sa_email           = lookup(local.emails, "provision", "")
    maintenance_sa_email         = lookup(local.emails, "maintenance", "")
    deprovision_sa_email         = lookup(local.emails, "deprovision", "")
    custom_sa_emails             = local.custom_emails
    break_glass_sa_emails        = local.break_glass_emails
    break_glass_until            = local.break_glass_until
    install_inputs               = local.install_inputs
  }) : name => value if value != null && value != "" }
}

resource "google_project_service" "this" {
  for_each           = toset(["compute.googleapis.com", "iam.googleapis.com", "iamcredentials.googleapis.com", "secretmanager.googleapis.com"])
  service            = each.value
  disable_on_destroy = false
}

resource "google_service_account" "runner" {
  account_id   = "${local.short}-runner"
  display_name = "Runner of ${local.install.id}"
  depends_on   = [google_project_service.this]
}

resource "google_service_account" "gke_nodes" {
  account_id   = "${local.short}-nodes"
  display_name = "Nodes of ${local.install.id}"
  depends_on   = [google_project_service.this]
}

resource "google_project_iam_member" "gke_nodes" {
  for_each = toset(["roles/container.defaultNodeServiceAccount", "roles/artifactregistry.reader"])
  project  = var.project_id
  role     = each.value
  member   = "serviceAccount:${google_service_account.gke_nodes.email}"
}

resource "google_secret_manager_secret" "runner" {
  for_each  = toset(["registry-password"])
  secret_id = "${local.install.id}-runner-${each.value}"
  labels    = local.labels
  replication {
    auto {}
  }
  depends_on = [google_project_service.this]
}

resource "google_secret_manager_secret_version" "registry_password" {
  count       = nonsensitive(var.registry_password != "") ? 1 : 0
  secret      = google_secret_manager_secret.runner["registry-password"].id
  secret_data = var.registry_password
}

resource "google_secret_manager_secret_iam_member" "runner" {
  for_each  = google_secret_manager_secret.runner
  secret_id = each.value.id
  role      = "roles/secretmanager.secretAccessor"
  member    = "serviceAccount:${google_service_account.runner.email}"
}

# The keys of the runner are on this disk and nowhere else.
resource "google_compute_disk" "runner" {
  name   = "${local.name}-runner"
  zone   = local.zone
  size   = 20
  type   = "pd-balanced"
  labels = local.labels
}

resource "google_compute_instance" "runner" {
  name         = "${local.name}-runner"
  zone         = local.zone
  machine_type = var.machine_type
  labels       = local.labels

  boot_disk {
    initialize_params {
      image = "debian-cloud/debian-12"
      size  = 30
    }
  }

  attached_disk {
    source      = google_compute_disk.runner.id
    device_name = "nuon"
  }

  network_interface {
    network    = local.network_name
    subnetwork = local.runner_subnet
  }

  service_account {
    email  = google_service_account.runner.email
    scopes = ["cloud-platform"]
  }

  shielded_instance_config {
    enable_secure_boot          = true
    enable_vtpm                 = true
    enable_integrity_monitoring = true
  }

  metadata = {
    block-project-ssh-keys        = "true"
    startup-script                = file("${path.module}/boot.sh")
    nuon-unit                     = file("${path.module}/nuon-runner.service")
    nuon-runner-url               = local.runner.url
    nuon-download-url             = local.runner.download_url
    nuon-sha256                   = local.runner.sha256
    nuon-arguments                = local.runner.arguments
    nuon-registry                 = var.registry
    nuon-registry-username        = var.registry_username
    nuon-claim                    = local.runner.claim
    nuon-stack-version            = local.runner.stack_version
    nuon-install                  = local.install.id
    nuon-outputs                  = jsonencode(local.outputs)
    nuon-registry-password-secret = nonsensitive(var.registry_password != "") ? google_secret_manager_secret.runner["registry-password"].id : ""
  }

  depends_on = [google_compute_router_nat.this, google_secret_manager_secret_iam_member.runner]
}

output "project_id" {
  value = var.project_id
}

output "region" {
  value = var.region
}

output "runner_service_account_email" {
  value = google_service_account.runner.email
}

output "gke_node_pool_sa_email" {
  value = google_service_account.gke_nodes.email
}
