# The registry of the install, to which nuon copies artifacts and images.

resource "aws_ecr_repository" "install" {
  name                 = local.prefix
  image_tag_mutability = "MUTABLE"
  force_delete         = true

  encryption_configuration {
    encryption_type = "KMS"
    kms_key         = aws_kms_key.install.arn
  }

  image_scanning_configuration {
    scan_on_push = true
  }
}

# What has lost its tag is no longer referred to by a component.
resource "aws_ecr_lifecycle_policy" "install" {
  repository = aws_ecr_repository.install.name

  policy = jsonencode({
    rules = [{
      rulePriority = 1
      description  = "Delete images without a tag after 30 days"
      selection    = { tagStatus = "untagged", countType = "sinceImagePushed", countUnit = "days", countNumber = 30 }
      action       = { type = "expire" }
    }]
  })
}
