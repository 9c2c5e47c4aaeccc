# Access entries and the permissions of the sandbox's own roles.

mock_provider "helm" {}

mock_provider "kubernetes" {}

mock_provider "time" {}

mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  nuon_id                  = "inexample"
  region                   = "eu-west-1"
  tags                     = { "app.nuon.co/id" = "appexample" }
  provision_iam_role_arn   = "arn:aws:iam::123456789012:role/inexample-provision"
  maintenance_iam_role_arn = "arn:aws:iam::123456789012:role/inexample-maintenance"
  deprovision_iam_role_arn = "arn:aws:iam::123456789012:role/inexample-deprovision"
  public_root_domain       = "inexample.example.com"
  internal_root_domain     = "internal.inexample.example.com"
}

run "defaults" {
  assert {
    condition     = keys(aws_eks_access_entry.role) == ["deprovision", "maintenance", "provision"]
    error_message = "Each role of the install has an entry; there is no break-glass role."
  }

  assert {
    condition     = keys(aws_eks_access_policy_association.role) == ["deprovision/cluster_admin", "provision/cluster_admin"]
    error_message = "The maintenance role has no access policy by default."
  }

  assert {
    condition     = aws_eks_access_entry.role["maintenance"].kubernetes_groups == toset(["maintenance"]) && kubernetes_cluster_role_binding_v1.maintenance.subject[0].name == "maintenance"
    error_message = "The maintenance role is bound by its group."
  }

  assert {
    condition     = length(setintersection(toset(flatten(kubernetes_cluster_role_v1.maintenance.rule[*].verbs)), toset(["*", "escalate", "bind", "impersonate"]))) == 0
    error_message = "The maintenance role must not raise its own permissions."
  }
}

# What dynamic-roles-kitchen-sink sets.
run "as_apps_set_them" {
  variables {
    break_glass_iam_role_arn               = "arn:aws:iam::123456789012:role/inexample-break-glass"
    maintenance_role_eks_kubernetes_groups = ["deployers"]
    maintenance_cluster_role_rules_override = [{
      "apiGroups" = ["*"]
      "resources" = ["*"]
      "verbs"     = ["*"]
    }]
    maintenance_role_eks_access_entry_policy_associations = {
      eks_admin = {
        policy_arn   = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSAdminPolicy"
        access_scope = { type = "cluster" }
      }
    }
    additional_access_entry = {
      custom = {
        principal_arn     = "arn:aws:iam::123456789012:role/inexample-custom"
        kubernetes_groups = []
        policy_associations = {
          admin = {
            policy_arn   = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSAdminPolicy"
            access_scope = { type = "cluster", namespaces = [] }
          }
          view = {
            policy_arn   = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"
            access_scope = { type = "cluster" }
          }
        }
      }
      deploy = {
        principal_arn = "arn:aws:iam::123456789012:role/inexample-deploy"
        policy_associations = {
          edit = {
            policy_arn   = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSEditPolicy"
            access_scope = { type = "namespace", namespaces = ["whoami"] }
          }
        }
      }
    }
  }

  assert {
    condition     = keys(aws_eks_access_entry.role) == ["additional/custom", "additional/deploy", "break_glass", "deprovision", "maintenance", "provision"]
    error_message = "Each role must have an entry."
  }

  assert {
    condition     = aws_eks_access_policy_association.role["additional/deploy/edit"].access_scope[0].namespaces == toset(["whoami"]) && aws_eks_access_policy_association.role["additional/custom/admin"].access_scope[0].type == "cluster"
    error_message = "The scopes must be as set."
  }

  assert {
    condition     = aws_eks_access_entry.role["maintenance"].kubernetes_groups == toset(["deployers", "maintenance"]) && kubernetes_cluster_role_v1.maintenance.rule[0].verbs == tolist(["*"])
    error_message = "Groups are added, rules replaced."
  }
}

# Least privilege: no policy of the sandbox names actions by a wildcard, but the key's, for its account.
run "policies" {
  variables {
    enable_nuon_dns  = "true"
    enable_karpenter = "true"
  }

  assert {
    condition = alltrue(flatten([
      for policy in [
        aws_iam_role_policy.alb[0].policy, aws_iam_role_policy.cert_manager[0].policy, aws_iam_role_policy.cluster_key[0].policy,
        aws_iam_role_policy.external_dns[0].policy, aws_iam_role_policy.karpenter[0].policy, aws_sqs_queue_policy.karpenter[0].policy,
      ] : [for statement in jsondecode(policy).Statement : [for action in statement.Action : !strcontains(action, "*")]]
    ]))
    error_message = "An action must be named in full."
  }

  assert {
    condition     = [for s in jsondecode(aws_kms_key.install.policy).Statement : s.Sid if strcontains(jsonencode(s.Action), "*")] == ["Account"]
    error_message = "Only the account itself may do everything with the key."
  }

  assert {
    condition     = alltrue([for role in aws_iam_role.irsa : can(jsondecode(role.assume_role_policy).Statement[0].Condition.StringEquals)])
    error_message = "A role may be assumed by one service account only."
  }
}
