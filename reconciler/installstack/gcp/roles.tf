# A service account for each role of the app that is switched on. Only the runner may act as it.

locals {
  enabled = { for id, role in local.roles : id => role if lookup(var.roles, id, role.enabled) }
  grants  = merge([for id, role in local.enabled : { for grant in role.grants : "${id} ${grant}" => { id = id, role = grant, kind = role.kind } }]...)
  emails  = { for id, role in local.enabled : id => google_service_account.role[id].email }

  custom_emails      = { for id, role in local.enabled : role.key => local.emails[id] if role.kind == "custom" }
  break_glass_emails = { for id, role in local.enabled : role.key => local.emails[id] if role.kind == "break_glass" }
  break_glass_until  = { for id, role in local.enabled : role.key => var.break_glass_until[id] if role.kind == "break_glass" }
}

resource "google_service_account" "role" {
  for_each     = local.enabled
  account_id   = each.value.account_id
  display_name = each.value.label
  description  = each.value.description

  lifecycle {
    precondition {
      condition     = length(setsubtract(keys(var.roles), keys(local.roles))) == 0
      error_message = "The variable roles names a role that the stack does not have. It has: ${join(", ", keys(local.roles))}."
    }
    precondition {
      condition     = each.value.kind != "break_glass" || can(timeadd(var.break_glass_until[each.key], "0s"))
      error_message = "The role ${each.key} is for emergencies: set its end in break_glass_until, such as { ${each.key} = \"2026-11-23T22:00:00Z\" }."
    }
  }
}

resource "google_project_iam_custom_role" "role" {
  for_each    = { for id, role in local.enabled : id => role if length(role.permissions) > 0 }
  role_id     = replace(each.value.account_id, "-", "_")
  title       = each.value.label
  description = each.value.description
  permissions = each.value.permissions
  depends_on  = [google_project_service.this]
}

resource "google_project_iam_member" "grant" {
  for_each = local.grants
  project  = var.project_id
  role     = each.value.role
  member   = "serviceAccount:${google_service_account.role[each.value.id].email}"

  # GCP accepts no conditions for its basic roles; the runner's right to act as the account ends in any case.
  dynamic "condition" {
    for_each = each.value.kind == "break_glass" && !contains(["roles/owner", "roles/editor", "roles/viewer"], each.value.role) ? [1] : []
    content {
      title      = "until"
      expression = "request.time < timestamp(\"${var.break_glass_until[each.value.id]}\")"
    }
  }
}

resource "google_project_iam_member" "custom" {
  for_each = google_project_iam_custom_role.role
  project  = var.project_id
  role     = each.value.name
  member   = "serviceAccount:${google_service_account.role[each.key].email}"
}

resource "google_service_account_iam_member" "runner" {
  for_each           = local.enabled
  service_account_id = google_service_account.role[each.key].name
  role               = "roles/iam.serviceAccountTokenCreator"
  member             = "serviceAccount:${google_service_account.runner.email}"

  dynamic "condition" {
    for_each = each.value.kind == "break_glass" ? [1] : []
    content {
      title      = "until"
      expression = "request.time < timestamp(\"${var.break_glass_until[each.key]}\")"
    }
  }
}

output "provision_sa_email" {
  value = lookup(local.emails, "provision", "")
}

output "maintenance_sa_email" {
  value = lookup(local.emails, "maintenance", "")
}

output "deprovision_sa_email" {
  value = lookup(local.emails, "deprovision", "")
}

output "custom_sa_emails" {
  value = local.custom_emails
}

output "break_glass_sa_emails" {
  value = local.break_glass_emails
}

output "break_glass_until" {
  value = local.break_glass_until
}
