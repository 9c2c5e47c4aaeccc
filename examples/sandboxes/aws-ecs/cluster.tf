# The ECS cluster. Services run on Fargate: there are no machines to patch.

locals {
  cluster_name = var.cluster_name != "" ? var.cluster_name : local.prefix
  log_group    = "/ecs/${local.cluster_name}"
}

resource "aws_ecs_cluster" "install" {
  name = local.cluster_name

  setting {
    name  = "containerInsights"
    value = "enabled"
  }

  configuration {
    execute_command_configuration {
      kms_key_id = aws_kms_key.install.arn
      logging    = "OVERRIDE"

      log_configuration {
        cloud_watch_encryption_enabled = true
        cloud_watch_log_group_name     = aws_cloudwatch_log_group.services.name
      }
    }

    managed_storage_configuration {
      fargate_ephemeral_storage_kms_key_id = aws_kms_key.install.arn
    }
  }
}

resource "aws_ecs_cluster_capacity_providers" "install" {
  cluster_name       = aws_ecs_cluster.install.name
  capacity_providers = ["FARGATE", "FARGATE_SPOT"]

  default_capacity_provider_strategy {
    capacity_provider = "FARGATE"
    weight            = 1
  }
}

resource "aws_cloudwatch_log_group" "services" {
  name              = local.log_group
  retention_in_days = 30
  kms_key_id        = aws_kms_key.install.arn
}
