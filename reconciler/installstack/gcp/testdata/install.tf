locals {
  name  = "ledger-ins-06hv0000000000000000000000"
  short = "n877a1313"
  install = {
    id = "ins_06hv0000000000000000000000"
  }
  labels = {
    nuon_app_id     = "app_1"
    nuon_install_id = "ins_06hv0000000000000000000000"
    nuon_org_id     = "org_1"
  }
  runner = {
    arguments     = "--install ins_06hv0000000000000000000000 --break-glass-role n877a1313-repair@*"
    claim         = "nuonc_org_1.ins_1.claim"
    download_url  = "https://runners.example.com/runnerd/00ff"
    sha256        = "00ff"
    stack_version = "3"
    url           = "https://runners.example.com"
  }
  roles = {
    Repair = {
      account_id  = "n877a1313-repair"
      description = "What repair needs"
      enabled     = false
      grants      = ["roles/viewer"]
      key         = "ins_06hv0000000000000000000000-repair"
      kind        = "break_glass"
      label       = "Repair"
      permissions = ["storage.objects.get"]
    }
    Unused = {
      account_id  = "n877a1313-unused"
      description = "What unused needs"
      enabled     = false
      grants      = ["roles/viewer"]
      key         = "ins_06hv0000000000000000000000-unused"
      kind        = "custom"
      label       = "unused"
      permissions = ["storage.objects.get"]
    }
    WebDeploy = {
      account_id  = "n877a1313-webdeploy"
      description = "What web-deploy needs"
      enabled     = true
      grants      = ["roles/viewer"]
      key         = "ins_06hv0000000000000000000000-web-deploy"
      kind        = "custom"
      label       = "web-deploy"
      permissions = ["storage.objects.get"]
    }
    deprovision = {
      account_id  = "n877a1313-deprovision"
      description = "What deprovision needs"
      enabled     = true
      grants      = ["roles/viewer"]
      key         = "ins_06hv0000000000000000000000-deprovision"
      kind        = "deprovision"
      label       = "deprovision"
      permissions = ["storage.objects.get"]
    }
    maintenance = {
      account_id  = "n877a1313-maintenance"
      description = "What maintenance needs"
      enabled     = true
      grants      = ["roles/viewer"]
      key         = "ins_06hv0000000000000000000000-maintenance"
      kind        = "maintenance"
      label       = "maintenance"
      permissions = ["storage.objects.get"]
    }
    provision = {
      account_id  = "n877a1313-provision"
      description = "What provision needs"
      enabled     = true
      grants      = ["roles/viewer"]
      key         = "ins_06hv0000000000000000000000-provision"
      kind        = "provision"
      label       = "provision"
      permissions = ["storage.objects.get"]
    }
  }
}
variable "project_id" {
  type        = string
  description = "Project of the install."
}
variable "region" {
  type        = string
  description = "Region of the install."
}
variable "registry" {
  type        = string
  description = "HOST/PATH of a registry of yours that stores copies of what is deployed."
}
variable "registry_username" {
  type        = string
  description = "Username of the registry."
  default     = ""
}
variable "registry_password" {
  type        = string
  description = "Password of the registry."
  default     = ""
  sensitive   = true
}
variable "machine_type" {
  type        = string
  description = "Size of the machine of the runner."
  default     = "e2-standard-2"
}
variable "network_name" {
  type        = string
  description = "Name of an existing network; empty to create one."
  default     = ""
}
variable "public_subnet_name" {
  type        = string
  description = "Its public subnet."
  default     = ""
}
variable "private_subnet_name" {
  type        = string
  description = "Its private subnet."
  default     = ""
}
variable "runner_subnet_name" {
  type        = string
  description = "Its subnet from which the runner reaches the internet."
  default     = ""
}
variable "roles" {
  type        = map(bool)
  description = "Roles to switch on (true) or off (false)."
  default     = {}
}
variable "break_glass_until" {
  type        = map(string)
  description = "When each break-glass role that is on ends, such as { repair = \"2026-11-23T22:00:00Z\" }."
  default     = {}
}
variable "secret_license" {
  type        = string
  description = "From your contract"
  sensitive   = true
}
resource "google_secret_manager_secret" "license" {
  count     = 1
  secret_id = "ins_06hv0000000000000000000000-license"
  labels    = local.labels
  replication {
    auto {
    }
  }
  depends_on = [google_project_service.this]
}
resource "google_secret_manager_secret_version" "license" {
  count       = 1
  secret      = google_secret_manager_secret.license[0].id
  secret_data = var.secret_license
  lifecycle {
    ignore_changes = [secret_data]
  }
}
resource "google_secret_manager_secret_iam_member" "secret_license_secretaccessor" {
  count     = 1
  secret_id = google_secret_manager_secret.license[0].id
  role      = "roles/secretmanager.secretAccessor"
  member    = "serviceAccount:${google_service_account.runner.email}"
}
resource "google_secret_manager_secret_iam_member" "secret_license_viewer" {
  count     = 1
  secret_id = google_secret_manager_secret.license[0].id
  role      = "roles/secretmanager.viewer"
  member    = "serviceAccount:${google_service_account.runner.email}"
}
output "license_arn" {
  value = one(google_secret_manager_secret.license[*].id)
}
variable "secret_smtp_password" {
  type        = string
  description = "Sends mail"
  default     = ""
  sensitive   = true
}
resource "google_secret_manager_secret" "smtp_password" {
  count     = nonsensitive(var.secret_smtp_password != "") ? 1 : 0
  secret_id = "ins_06hv0000000000000000000000-smtp_password"
  labels    = local.labels
  replication {
    auto {
    }
  }
  depends_on = [google_project_service.this]
}
resource "google_secret_manager_secret_version" "smtp_password" {
  count       = nonsensitive(var.secret_smtp_password != "") ? 1 : 0
  secret      = google_secret_manager_secret.smtp_password[0].id
  secret_data = var.secret_smtp_password
  lifecycle {
    ignore_changes = [secret_data]
  }
}
resource "google_secret_manager_secret_iam_member" "secret_smtp_password_secretaccessor" {
  count     = nonsensitive(var.secret_smtp_password != "") ? 1 : 0
  secret_id = google_secret_manager_secret.smtp_password[0].id
  role      = "roles/secretmanager.secretAccessor"
  member    = "serviceAccount:${google_service_account.runner.email}"
}
resource "google_secret_manager_secret_iam_member" "secret_smtp_password_viewer" {
  count     = nonsensitive(var.secret_smtp_password != "") ? 1 : 0
  secret_id = google_secret_manager_secret.smtp_password[0].id
  role      = "roles/secretmanager.viewer"
  member    = "serviceAccount:${google_service_account.runner.email}"
}
output "smtp_password_arn" {
  value = one(google_secret_manager_secret.smtp_password[*].id)
}
resource "random_password" "session_key" {
  length  = 63
  special = false
}
resource "google_secret_manager_secret" "session_key" {
  count     = 1
  secret_id = "ins_06hv0000000000000000000000-session_key"
  labels    = local.labels
  replication {
    auto {
    }
  }
  depends_on = [google_project_service.this]
}
resource "google_secret_manager_secret_version" "session_key" {
  count       = 1
  secret      = google_secret_manager_secret.session_key[0].id
  secret_data = random_password.session_key.result
  lifecycle {
    ignore_changes = [secret_data]
  }
}
resource "google_secret_manager_secret_iam_member" "secret_session_key_secretaccessor" {
  count     = 1
  secret_id = google_secret_manager_secret.session_key[0].id
  role      = "roles/secretmanager.secretAccessor"
  member    = "serviceAccount:${google_service_account.runner.email}"
}
resource "google_secret_manager_secret_iam_member" "secret_session_key_viewer" {
  count     = 1
  secret_id = google_secret_manager_secret.session_key[0].id
  role      = "roles/secretmanager.viewer"
  member    = "serviceAccount:${google_service_account.runner.email}"
}
output "session_key_arn" {
  value = one(google_secret_manager_secret.session_key[*].id)
}
variable "secret_wildcard" {
  type        = string
  description = "Certificate (name of a secret that you have)"
}
output "wildcard_arn" {
  value = var.secret_wildcard
}
locals {
  secret_outputs = {
    license_arn       = one(google_secret_manager_secret.license[*].id)
    smtp_password_arn = one(google_secret_manager_secret.smtp_password[*].id)
    session_key_arn   = one(google_secret_manager_secret.session_key[*].id)
    wildcard_arn      = var.secret_wildcard
  }
}
variable "input_size" {
  type        = string
  description = "Size. T-shirt"
  default     = "large"
}
variable "input_nodes" {
  type        = string
  description = "Nodes."
  default     = "3"
}
variable "input_zones" {
  type        = string
  description = "Zones."
  default     = "a,b"
}
variable "input_debug" {
  type        = string
  description = "Debug."
  default     = ""
}
variable "input_domain" {
  type        = string
  description = "Domain."
}
locals {
  install_inputs = {
    "size"   = var.input_size
    "nodes"  = var.input_nodes
    "zones"  = var.input_zones
    "debug"  = var.input_debug
    "domain" = var.input_domain
  }
}
output "install_inputs" {
  value = local.install_inputs
}
