locals {
  # At most three zones, by the place of their subnets in the address range.
  zones = local.create_vpc ? { for i, zone in data.aws_availability_zones.available.names : zone => i if i < 3 } : {}
}

resource "aws_vpc" "new" {
  count = local.create_vpc ? 1 : 0

  cidr_block           = var.vpc_cidr
  enable_dns_support   = true
  enable_dns_hostnames = true

  tags = { Name = local.prefix }
}

# The default security group lets nothing in or out: everything has a group of its own.
resource "aws_default_security_group" "new" {
  count = local.create_vpc ? 1 : 0

  vpc_id = aws_vpc.new[0].id
  tags   = { Name = "${local.prefix}-default" }
}

resource "aws_subnet" "public" {
  for_each = local.zones

  vpc_id            = aws_vpc.new[0].id
  availability_zone = each.key
  cidr_block        = cidrsubnet(var.vpc_cidr, 10, each.value)

  tags = {
    Name                     = "${local.prefix}-public-${each.key}"
    visibility               = "public"
    "network.nuon.co/domain" = "public"
    "kubernetes.io/role/elb" = "1"
  }
}

resource "aws_subnet" "private" {
  for_each = local.zones

  vpc_id            = aws_vpc.new[0].id
  availability_zone = each.key
  cidr_block        = cidrsubnet(var.vpc_cidr, 7, 65 + each.value)

  tags = {
    Name                              = "${local.prefix}-private-${each.key}"
    visibility                        = "private"
    "network.nuon.co/domain"          = "internal"
    "kubernetes.io/role/internal-elb" = "1"
  }
}

resource "aws_subnet" "runner" {
  count = local.create_vpc ? 1 : 0

  vpc_id            = aws_vpc.new[0].id
  availability_zone = keys(local.zones)[0]
  cidr_block        = cidrsubnet(var.vpc_cidr, 8, 128)

  tags = {
    Name                     = "${local.prefix}-runner"
    visibility               = "private"
    "network.nuon.co/domain" = "runner"
  }
}

resource "aws_internet_gateway" "new" {
  count = local.create_vpc ? 1 : 0

  vpc_id = aws_vpc.new[0].id
  tags   = { Name = local.prefix }
}

# One NAT gateway for all private subnets: a zone that fails may take the way out with it.
resource "aws_eip" "nat" {
  count = local.create_vpc ? 1 : 0

  domain = "vpc"
  tags   = { Name = "${local.prefix}-nat" }
}

resource "aws_nat_gateway" "new" {
  count = local.create_vpc ? 1 : 0

  allocation_id = aws_eip.nat[0].id
  subnet_id     = aws_subnet.public[keys(local.zones)[0]].id
  tags          = { Name = local.prefix }

  depends_on = [aws_internet_gateway.new]
}

resource "aws_route_table" "public" {
  count = local.create_vpc ? 1 : 0

  vpc_id = aws_vpc.new[0].id
  tags   = { Name = "${local.prefix}-public" }
}

resource "aws_route" "public" {
  count = local.create_vpc ? 1 : 0

  route_table_id         = aws_route_table.public[0].id
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.new[0].id
}

resource "aws_route_table" "private" {
  count = local.create_vpc ? 1 : 0

  vpc_id = aws_vpc.new[0].id
  tags   = { Name = "${local.prefix}-private" }
}

resource "aws_route" "private" {
  count = local.create_vpc ? 1 : 0

  route_table_id         = aws_route_table.private[0].id
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = aws_nat_gateway.new[0].id
}

resource "aws_route_table_association" "public" {
  for_each = local.zones

  subnet_id      = aws_subnet.public[each.key].id
  route_table_id = aws_route_table.public[0].id
}

resource "aws_route_table_association" "private" {
  for_each = local.zones

  subnet_id      = aws_subnet.private[each.key].id
  route_table_id = aws_route_table.private[0].id
}

resource "aws_route_table_association" "runner" {
  count = local.create_vpc ? 1 : 0

  subnet_id      = aws_subnet.runner[0].id
  route_table_id = aws_route_table.private[0].id
}

# Image layers of ECR come from S3: without the NAT gateway, and without its price.
resource "aws_vpc_endpoint" "s3" {
  count = local.create_vpc ? 1 : 0

  vpc_id            = aws_vpc.new[0].id
  service_name      = "com.amazonaws.${var.region}.s3"
  vpc_endpoint_type = "Gateway"
  route_table_ids   = [aws_route_table.private[0].id]
  tags              = { Name = "${local.prefix}-s3" }
}
