module github.com/avoformer/avoformer/text

go 1.26.0
