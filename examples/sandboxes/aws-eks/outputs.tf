output "account" {
  description = "The AWS account: id and region."
  value = {
    id     = local.account_id
    region = var.region
  }
}

output "vpc" {
  description = "The VPC and its subnets: ids, address ranges and zones."
  value = {
    id                         = local.network.vpc_id
    arn                        = local.network.vpc_arn
    cidr                       = local.network.vpc_cidr
    azs                        = data.aws_availability_zones.available.names
    subnet_azs                 = distinct(concat(local.network.private[*].az, local.network.public[*].az))
    private_subnet_ids         = tolist(local.network.private[*].id)
    private_subnet_cidr_blocks = tolist(local.network.private[*].cidr)
    private_subnet_azs         = tolist(local.network.private[*].az)
    public_subnet_ids          = tolist(local.network.public[*].id)
    public_subnet_cidr_blocks  = tolist(local.network.public[*].cidr)
    public_subnet_azs          = tolist(local.network.public[*].az)
    runner_subnet_id           = local.network.runner[0].id
    runner_subnet_cidr         = local.network.runner[0].cidr
    runner_subnet_az           = local.network.runner[0].az
    default_security_group_id  = local.network.default_security_group_id
  }
}

output "cluster" {
  description = "The cluster: its API, OIDC provider, security groups and node groups."
  value = {
    arn                               = local.cluster.arn
    name                              = local.cluster.name
    endpoint                          = local.cluster.endpoint
    certificate_authority_data        = local.cluster.certificate_authority_data
    version                           = local.cluster.version
    platform_version                  = local.cluster.platform_version
    status                            = local.cluster.status
    oidc_issuer_url                   = local.cluster.oidc_issuer_url
    oidc_provider                     = local.oidc_provider
    oidc_provider_arn                 = local.oidc_provider_arn
    cluster_primary_security_group_id = local.cluster.primary_security_group_id
    cluster_security_group_id         = local.cluster.security_group_id
    node_security_group_id            = join("", aws_security_group.node[*].id)
    node_groups = { for group in aws_eks_node_group.default : group.node_group_name => {
      node_group_arn    = group.arn
      node_group_status = group.status
      iam_role_arn      = group.node_role_arn
      iam_role_name     = aws_iam_role.node["node"].name
    } }
  }
}

output "namespaces" {
  description = "The namespaces that the sandbox made."
  value       = sort([for namespace in kubernetes_namespace_v1.install : namespace.metadata[0].name])
}

output "additional_irsa" {
  description = "The roles of additional_irsas, by name."
  value = { for irsa in var.additional_irsas : irsa.role_name => {
    iam_role_arn  = aws_iam_role.irsa["additional/${irsa.role_name}"].arn
    iam_role_name = aws_iam_role.irsa["additional/${irsa.role_name}"].name
  } }
}

output "karpenter" {
  description = "What node classes of Karpenter refer to. Without Karpenter, the names are empty."
  value = {
    instance_profile = {
      id   = join("", aws_iam_instance_profile.karpenter[*].id)
      arn  = join("", aws_iam_instance_profile.karpenter[*].arn)
      name = join("", aws_iam_instance_profile.karpenter[*].name)
    }
    discovery_key   = local.karpenter ? local.karpenter_discovery.key : ""
    discovery_value = local.karpenter ? local.karpenter_discovery.value : ""
  }
}

output "ecr" {
  description = "The repository of the install, and the address of its registry."
  value = {
    repository_url  = aws_ecr_repository.install.repository_url
    repository_arn  = aws_ecr_repository.install.arn
    repository_name = aws_ecr_repository.install.name
    registry_id     = aws_ecr_repository.install.registry_id
    registry_url    = split("/", aws_ecr_repository.install.repository_url)[0]
  }
}

output "nuon_dns" {
  description = "The DNS zones. Without DNS, enabled is false and the names are empty."
  value = {
    enabled         = local.dns_enabled
    public_domain   = local.public_domain
    internal_domain = local.internal_domain

    alb_ingress_controller = local.releases.alb
    external_dns           = local.releases.external_dns
    cert_manager           = local.releases.cert_manager
    ingress_nginx          = local.releases.ingress_nginx
  }
}

locals {
  # Helm releases of controllers by name, with empty strings for what is not installed.
  releases = { for name, releases in {
    alb           = helm_release.alb
    external_dns  = helm_release.external_dns
    cert_manager  = helm_release.cert_manager
    ingress_nginx = helm_release.ingress_nginx
    } : name => {
    enabled  = length(releases) > 0
    id       = join("", releases[*].id)
    chart    = join("", releases[*].metadata.chart)
    revision = join("", releases[*].metadata.revision)
  } }
}

output "public_domain" {
  description = "The public DNS zone again, where older apps read it."
  value       = local.public_domain
}

output "internal_domain" {
  description = "The internal DNS zone again, where older apps read it."
  value       = local.internal_domain
}
