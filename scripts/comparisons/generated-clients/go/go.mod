module session

go 1.23
