module session

go 1.24
