"""S3 by obstore: the address of a bucket, the connection, and what its errors mean."""
