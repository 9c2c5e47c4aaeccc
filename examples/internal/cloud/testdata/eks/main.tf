terraform {
  required_providers {
    aws        = { source = "hashicorp/aws", version = "~> 6.0" }
    random     = { source = "hashicorp/random" }
    tls        = { source = "hashicorp/tls" }
    kubernetes = { source = "hashicorp/kubernetes" }
    helm       = { source = "hashicorp/helm", version = "~> 2.0" }
    local      = { source = "hashicorp/local" }
    external   = { source = "hashicorp/external" }
  }
}
variable "owner" {
  default = "vera"
}

provider "aws" {
  region = "eu-west-1"
  default_tags { tags = { owner = var.owner } }
}
data "aws_availability_zones" "available" { state = "available" }
data "aws_caller_identity" "me" {}
data "aws_iam_policy_document" "assume" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["eks.amazonaws.com"]
    }
  }
}
resource "aws_vpc" "main" {
  cidr_block = "10.1.0.0/16"
  tags       = { Name = "main" }
}
resource "aws_subnet" "private" {
  count             = 3
  vpc_id            = aws_vpc.main.id
  cidr_block        = cidrsubnet(aws_vpc.main.cidr_block, 8, count.index)
  availability_zone = data.aws_availability_zones.available.names[count.index]
  tags              = { visibility = "private" }
}
data "aws_subnets" "private" {
  filter {
    name   = "vpc-id"
    values = [aws_vpc.main.id]
  }
  filter {
    name   = "tag:visibility"
    values = ["private"]
  }
  depends_on = [aws_subnet.private]
}
resource "aws_security_group" "sg" {
  name_prefix = "x-"
  vpc_id      = aws_vpc.main.id
  ingress {
    from_port   = 443
    to_port     = 443
    protocol    = "tcp"
    cidr_blocks = ["0.0.0.0/0"]
  }
}
resource "aws_iam_role" "cluster" {
  name               = "cluster"
  assume_role_policy = data.aws_iam_policy_document.assume.json
}
resource "aws_iam_role_policy_attachment" "a" {
  role       = aws_iam_role.cluster.name
  policy_arn = "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"
}
resource "aws_eks_cluster" "c" {
  name     = "demo"
  role_arn = aws_iam_role.cluster.arn
  vpc_config { subnet_ids = data.aws_subnets.private.ids }
}
data "aws_eks_cluster" "c" {
  name       = aws_eks_cluster.c.name
  depends_on = [aws_eks_cluster.c]
}
provider "kubernetes" {
  host                   = aws_eks_cluster.c.endpoint
  cluster_ca_certificate = base64decode(aws_eks_cluster.c.certificate_authority[0].data)
}
provider "helm" {
  kubernetes { host = aws_eks_cluster.c.endpoint }
}
resource "kubernetes_namespace" "n" {
  metadata { name = "web" }
}
resource "kubernetes_secret" "n" {
  metadata {
    name      = "web"
    namespace = kubernetes_namespace.n.metadata[0].name
  }
  data = { a = "b" }
}
resource "helm_release" "r" {
  name      = "web"
  chart     = "nginx"
  namespace = kubernetes_namespace.n.metadata[0].name
  set {
    name  = "a"
    value = "b"
  }
}
resource "random_password" "p" { length = 20 }
resource "random_pet" "p" {}
resource "random_id" "p" { byte_length = 4 }
resource "tls_private_key" "k" { algorithm = "RSA" }
resource "tls_self_signed_cert" "c" {
  private_key_pem       = tls_private_key.k.private_key_pem
  validity_period_hours = 10
  allowed_uses          = ["server_auth"]
  dns_names             = ["a.test"]
  subject { common_name = "a" }
}
resource "local_file" "f" {
  filename = "${path.module}/out.txt"
  content  = random_pet.p.id
}
data "external" "e" { program = ["sh", "-c", "echo '{\"a\":\"b\"}'"] }
resource "aws_route53_zone" "z" { name = "a.test" }
resource "aws_acm_certificate" "c" {
  domain_name               = "a.test"
  subject_alternative_names = ["*.a.test"]
  validation_method         = "DNS"
}
resource "aws_route53_record" "v" {
  for_each        = { for o in aws_acm_certificate.c.domain_validation_options : o.domain_name => o }
  zone_id         = aws_route53_zone.z.zone_id
  name            = each.value.resource_record_name
  type            = each.value.resource_record_type
  records         = [each.value.resource_record_value]
  ttl             = 60
  allow_overwrite = true
}
resource "aws_db_instance" "d" {
  skip_final_snapshot = true

  identifier        = "db"
  instance_class    = "db.t3.micro"
  engine            = "postgres"
  allocated_storage = 20
  username          = "a"
  password          = random_password.p.result
}

output "vpc" {
  value = aws_vpc.main.id
}

output "subnets" {
  value = sort(data.aws_subnets.private.ids) == sort(aws_subnet.private[*].id)
}

output "endpoint" {
  value = data.aws_eks_cluster.c.endpoint
}

output "certificate" {
  value     = [tls_private_key.k.private_key_pem, tls_self_signed_cert.c.cert_pem]
  sensitive = true
}

output "policy" {
  value = data.aws_iam_policy_document.assume.json
}

output "external" {
  value = data.external.e.result.a
}
