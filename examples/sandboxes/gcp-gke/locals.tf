locals {
  sandbox = "gcp-gke"
  prefix  = "n-${lower(var.nuon_id)}"

  # Labels allow lower case letters, digits, _ and -, at most 63 of them.
  # Of names that become the same, one stays.
  tag_labels = {
    for name, value in var.tags :
    substr(replace(lower(name), "/[^a-z0-9_-]/", "_"), 0, 63) =>
    substr(replace(lower(value), "/[^a-z0-9_-]/", "_"), 0, 63)...
  }

  labels = merge({ for name, values in local.tag_labels : name => values[0] }, var.labels, {
    install_nuon_co_id   = lower(var.nuon_id)
    sandbox_nuon_co_name = local.sandbox
  })
}
