# What services of components share: ways in and out, and the role that starts tasks.

resource "aws_security_group" "load_balancer" {
  name        = "${local.cluster_name}-load-balancer"
  description = "Load balancers of ${local.cluster_name}"
  vpc_id      = local.network.vpc_id
  tags        = { Name = "${local.cluster_name}-load-balancer" }
}

# Port 80 is for the redirect to 443.
resource "aws_vpc_security_group_ingress_rule" "load_balancer" {
  for_each = { http = 80, https = 443 }

  security_group_id = aws_security_group.load_balancer.id
  description       = "Everybody to load balancers, ${each.key}"
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "tcp"
  from_port         = each.value
  to_port           = each.value
}

resource "aws_vpc_security_group_egress_rule" "load_balancer" {
  security_group_id            = aws_security_group.load_balancer.id
  description                  = "Load balancers to services"
  referenced_security_group_id = aws_security_group.service.id
  ip_protocol                  = "-1"
}

resource "aws_security_group" "service" {
  name        = "${local.cluster_name}-service"
  description = "Services of ${local.cluster_name}"
  vpc_id      = local.network.vpc_id
  tags        = { Name = "${local.cluster_name}-service" }
}

resource "aws_vpc_security_group_ingress_rule" "service" {
  for_each = {
    load_balancers = aws_security_group.load_balancer.id
    services       = aws_security_group.service.id
  }

  security_group_id            = aws_security_group.service.id
  description                  = "To services from ${replace(each.key, "_", " ")}"
  referenced_security_group_id = each.value
  ip_protocol                  = "-1"
}

resource "aws_vpc_security_group_egress_rule" "service" {
  security_group_id = aws_security_group.service.id
  description       = "Services to everywhere: images, AWS, what the app calls"
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
}

# For databases of components.
resource "aws_db_subnet_group" "private" {
  name        = "${lower(local.prefix)}-private"
  description = "Private subnets of install ${var.nuon_id}"
  subnet_ids  = local.network.private[*].id
}

# ECS starts tasks with it: it pulls images of this install and writes logs. What a task itself may do is up to the role
# that its component makes.
resource "aws_iam_role" "execution" {
  name = "${substr(local.cluster_name, 0, 48)}-execution"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "ecs-tasks.amazonaws.com" }
      Action    = ["sts:AssumeRole"]
      Condition = { StringEquals = { "aws:SourceAccount" = local.account_id } }
    }]
  })
}

resource "aws_iam_role_policy" "execution" {
  name = "start-tasks"
  role = aws_iam_role.execution.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        # AWS knows no resource for this.
        Sid      = "Login"
        Effect   = "Allow"
        Action   = ["ecr:GetAuthorizationToken"]
        Resource = "*"
      },
      {
        Sid      = "Pull"
        Effect   = "Allow"
        Action   = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
        Resource = aws_ecr_repository.install.arn
      },
      {
        Sid      = "Logs"
        Effect   = "Allow"
        Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        Resource = "${aws_cloudwatch_log_group.services.arn}:*"
      },
    ]
  })
}
