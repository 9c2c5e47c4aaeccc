# Karpenter beside the node group: it starts the instances that pods need. Its permissions are in karpenter_access.tf.

locals {
  karpenter_discovery = { key = "karpenter.sh/discovery", value = local.cluster_name }
  karpenter_terms     = [{ tags = { (local.karpenter_discovery.key) = local.karpenter_discovery.value } }]

  karpenter_volumes = [{
    deviceName = "/dev/xvda"
    ebs = {
      volumeSize          = "50Gi"
      volumeType          = "gp3"
      encrypted           = true
      kmsKeyID            = aws_kms_key.install.arn
      deleteOnTermination = true
    }
  }]

  karpenter_node_class = {
    apiVersion = "karpenter.k8s.aws/v1"
    kind       = "EC2NodeClass"
    metadata   = { name = "default" }
    spec = {
      instanceProfile            = join("", aws_iam_instance_profile.karpenter[*].name)
      metadataOptions            = var.karpenter_ec2nodeclass_default_metadata_options
      tags                       = local.tags
      subnetSelectorTerms        = local.karpenter_terms
      securityGroupSelectorTerms = local.karpenter_terms

      # The first that is set: a condition would require that both have one type.
      amiSelectorTerms = [
        for terms in [var.karpenter_default_nodeclass_ami_selector_terms, [{ alias = "al2023@latest" }]] :
        terms if terms != null
      ][0]
      blockDeviceMappings = [
        for volumes in [var.karpenter_default_nodeclass_block_device_mappings, local.karpenter_volumes] :
        volumes if volumes != null
      ][0]
    }
  }

  karpenter_default_spec = {
    template = {
      spec = {
        nodeClassRef = { group = "karpenter.k8s.aws", kind = "EC2NodeClass", name = "default" }
        expireAfter  = "720h"
        requirements = [
          { key = "karpenter.sh/capacity-type", operator = "In", values = ["on-demand"] },
          { key = "node.kubernetes.io/instance-type", operator = "In", values = [var.default_instance_type] },
        ]
      }
    }
    limits     = { cpu = "1000" }
    disruption = { consolidationPolicy = "WhenEmptyOrUnderutilized", consolidateAfter = "5m" }
  }

  karpenter_node_pool = {
    apiVersion = "karpenter.sh/v1"
    kind       = "NodePool"
    metadata   = { name = "default" }
    spec = [
      for spec in [var.karpenter_default_nodepool_spec, local.karpenter_default_spec] : spec if spec != null
    ][0]
  }

  karpenter_subnets = (
    !local.karpenter ? {}
    : local.create_vpc ? { for zone, _ in local.zones : zone => aws_subnet.private[zone].id }
    : { for id in local.existing_subnet_ids.private : id => id }
  )
}

resource "aws_ec2_tag" "karpenter" {
  for_each = local.karpenter_subnets

  resource_id = each.value
  key         = local.karpenter_discovery.key
  value       = local.karpenter_discovery.value
}

resource "helm_release" "karpenter" {
  count = local.karpenter ? 1 : 0

  name             = "karpenter"
  namespace        = local.controllers["karpenter"].namespace
  create_namespace = true
  repository       = "oci://public.ecr.aws/karpenter"
  chart            = "karpenter"
  version          = var.karpenter_version

  values = [yamlencode({
    replicas = var.karpenter_replica_count
    settings = {
      clusterName       = local.cluster.name
      clusterEndpoint   = local.cluster.endpoint
      interruptionQueue = aws_sqs_queue.karpenter[0].name
    }
    serviceAccount = {
      name        = local.controllers["karpenter"].service_account
      annotations = { "eks.amazonaws.com/role-arn" = aws_iam_role.irsa["karpenter"].arn }
    }
  })]

  depends_on = [time_sleep.access, aws_iam_role_policy.karpenter, aws_ec2_tag.karpenter]
}

resource "helm_release" "karpenter_defaults" {
  count = local.karpenter ? 1 : 0

  name      = "karpenter-defaults"
  namespace = local.controllers["karpenter"].namespace
  chart     = "${path.module}/charts/objects"

  values = [yamlencode({
    objects = [yamlencode(local.karpenter_node_class), yamlencode(local.karpenter_node_pool)]
  })]

  depends_on = [helm_release.karpenter]
}

# Nodes of Karpenter have the role of the managed nodes, which the cluster lets in already.
resource "aws_iam_instance_profile" "karpenter" {
  count = local.karpenter ? 1 : 0

  name = "${substr(local.cluster_name, 0, 48)}-karpenter"
  role = aws_iam_role.node["node"].name
}

# AWS announces here that it will take an instance back.

resource "aws_sqs_queue" "karpenter" {
  count = local.karpenter ? 1 : 0

  name                      = "${substr(local.cluster_name, 0, 48)}-karpenter"
  message_retention_seconds = 300
  sqs_managed_sse_enabled   = true
}

resource "aws_sqs_queue_policy" "karpenter" {
  count = local.karpenter ? 1 : 0

  queue_url = aws_sqs_queue.karpenter[0].url

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "events.amazonaws.com" }
      Action    = ["sqs:SendMessage"]
      Resource  = aws_sqs_queue.karpenter[0].arn
      Condition = { ArnEquals = { "aws:SourceArn" = [for rule in aws_cloudwatch_event_rule.karpenter : rule.arn] } }
    }]
  })
}

resource "aws_cloudwatch_event_rule" "karpenter" {
  for_each = local.karpenter ? {
    health         = { source = "aws.health", type = "AWS Health Event" }
    interruption   = { source = "aws.ec2", type = "EC2 Spot Instance Interruption Warning" }
    rebalance      = { source = "aws.ec2", type = "EC2 Instance Rebalance Recommendation" }
    instance_state = { source = "aws.ec2", type = "EC2 Instance State-change Notification" }
  } : {}

  name          = "${substr(local.cluster_name, 0, 40)}-karpenter-${each.key}"
  description   = "${each.value.type} for Karpenter of ${local.cluster_name}"
  event_pattern = jsonencode({ source = [each.value.source], "detail-type" = [each.value.type] })
}

resource "aws_cloudwatch_event_target" "karpenter" {
  for_each = aws_cloudwatch_event_rule.karpenter

  rule      = each.value.name
  target_id = "karpenter"
  arn       = aws_sqs_queue.karpenter[0].arn
}
