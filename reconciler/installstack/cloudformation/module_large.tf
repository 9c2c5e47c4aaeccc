variable "template_bucket" {
  type        = string
  description = "A bucket of yours for the template, which is too large to be sent without one."
}

data "aws_s3_bucket" "template" {
  bucket = var.template_bucket
}

resource "aws_s3_object" "template" {
  bucket = data.aws_s3_bucket.template.id
  key    = "${local.name}/${filesha256("${path.module}/template.json")}.json"
  source = "${path.module}/template.json"
}

resource "aws_cloudformation_stack" "this" {
  name         = local.name
  capabilities = ["CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]
  template_url = "https://${data.aws_s3_bucket.template.bucket_regional_domain_name}/${aws_s3_object.template.key}"
  parameters   = local.parameters
}
