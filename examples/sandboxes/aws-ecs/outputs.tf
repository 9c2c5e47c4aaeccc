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
    name                       = local.prefix
    db_subnet_group_id         = aws_db_subnet_group.private.id
    db_subnet_group_name       = aws_db_subnet_group.private.name
  }
}

output "ecs_cluster" {
  description = "The ECS cluster, and what services in it need: roles, security groups, logs."
  value = {
    id                        = aws_ecs_cluster.install.id
    arn                       = aws_ecs_cluster.install.arn
    name                      = aws_ecs_cluster.install.name
    execution_role_arn        = aws_iam_role.execution.arn
    service_security_group_id = aws_security_group.service.id
    log_group_name            = aws_cloudwatch_log_group.services.name
  }
}

output "load_balancer" {
  description = "What a load balancer in front of services needs: components make the load balancer itself."
  value = {
    security_group_id = aws_security_group.load_balancer.id
    subnet_ids        = tolist(local.network.public[*].id)
  }
}

output "runner" {
  description = "The runner's role, where older apps read it."
  value = {
    install_iam_role_arn = var.runner_install_role
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
  }
}

output "public_domain" {
  description = "The public DNS zone again, where older apps read it."
  value       = local.public_domain
}

output "internal_domain" {
  description = "The internal DNS zone again, where older apps read it."
  value       = local.internal_domain
}
