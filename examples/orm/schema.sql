-- The table of the examples. The key is not AUTO_INCREMENT: the program generates it. A row that got no UID is an error:
-- the key has no default, and must not be 0.
CREATE TABLE orders (
  id        BIGINT       NOT NULL,
  parent_id BIGINT       NULL,
  item      VARCHAR(100) NOT NULL,
  detail    JSON         NOT NULL,
  PRIMARY KEY (id),
  KEY parent_id (parent_id),
  CONSTRAINT orders_id CHECK (id > 0),
  CONSTRAINT orders_parent FOREIGN KEY (parent_id) REFERENCES orders (id)
);
