package dvdstore

// restock reorders a product whose stock falls below three. The quantity in reorder is the
// number of pieces ordered.
const restock = `
CREATE FUNCTION restock() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  filled int := 250;
BEGIN
  IF NEW.quan_in_stock < 3 THEN
    IF (NEW.prod_id + 1) % 10000 = 0 THEN filled := 2500; END IF;
    INSERT INTO reorder (prod_id, date_low, quan_low) VALUES (NEW.prod_id, current_date, filled - NEW.quan_in_stock);
    NEW.quan_in_stock := filled;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER restock BEFORE UPDATE ON inventory FOR EACH ROW WHEN (OLD.quan_in_stock IS DISTINCT FROM NEW.quan_in_stock) EXECUTE FUNCTION restock();
`

// calls are functions that differ between the modes in a word: of KEPT, whether new
// customers keep their age and income, and of WANTED, by which words products are hits.
const calls = `
CREATE FUNCTION new_customer(text, text, text, text, text, text, text, text, text, text, text, text, text, text, text, text, text, text, text)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  made int;
BEGIN
  INSERT INTO customers (firstname, lastname, address1, address2, city, state, zip, country, region, email, phone, creditcardtype, creditcard, creditcardexpiration,
    age, income, gender, username, password)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::smallint, $10, $11, $12::int, $13, $14, KEPT, $17, $18, $19)
  RETURNING customerid INTO made;
  RETURN made;
EXCEPTION WHEN unique_violation THEN
  RETURN 0;
END $$;
CREATE FUNCTION new_member(customer int, kind int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO membership VALUES (customer, kind, current_date);
  RETURN customer;
EXCEPTION WHEN unique_violation THEN
  RETURN 0;
END $$;
CREATE FUNCTION browse_by_category(most int, wanted int) RETURNS SETOF products LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT * FROM products WHERE category = wanted AND special = 1 LIMIT most;
END $$;
CREATE FUNCTION browse_by_actor(most int, wanted text) RETURNS SETOF products LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT * FROM products WHERE to_tsvector('simple', actor) @@ WANTED LIMIT most;
END $$;
CREATE FUNCTION browse_by_title(most int, wanted text) RETURNS SETOF products LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT * FROM products WHERE to_tsvector('simple', title) @@ WANTED LIMIT most;
END $$;
CREATE FUNCTION new_review(product int, given int, customer int, summary text, words text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  made int;
BEGIN
  INSERT INTO reviews (prod_id, review_date, stars, customerid, review_summary, review_text) VALUES (product, current_date, given, customer, summary, words)
  RETURNING review_id INTO made;
  RETURN made;
END $$;
CREATE FUNCTION rate_review(review int, customer int, help int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  made int;
BEGIN
  INSERT INTO reviews_helpfulness (review_id, customerid, helpfulness) VALUES (review, customer, help) RETURNING review_helpfulness_id INTO made;
  RETURN made;
END $$;
`

// searched is a search for reviews by the words of a COLUMN of products.
const searched = `
CREATE FUNCTION reviews_by_COLUMN(most int, depth int, wanted text) RETURNS TABLE (a int, b text, c text, d int, e date, f smallint, g int, h text, i text, help bigint)
LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY WITH hits AS (SELECT p.prod_id, p.title, p.actor, r.review_id, r.review_date, r.stars, r.customerid, r.review_summary, r.review_text
    FROM products p JOIN reviews r USING (prod_id) WHERE to_tsvector('simple', p.COLUMN) @@ WANTED LIMIT depth)
  SELECT hits.*, sum(rated.helpfulness) AS total FROM hits JOINED reviews_helpfulness rated USING (review_id)
  GROUP BY hits.prod_id, hits.title, hits.actor, hits.review_id, hits.review_date, hits.stars, hits.customerid, hits.review_summary, hits.review_text
  ORDER BY total DESC NULLS LAST LIMIT most;
END $$;
`

// read is a reading of the reviews of a product, with a CONDITION and what comes FIRST.
const read = `
CREATE FUNCTION NAME(most int, wanted int, given int) RETURNS TABLE (a int, b int, c date, d smallint, e int, f text, g text, help bigint) LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT r.review_id, r.prod_id, r.review_date, r.stars, r.customerid, r.review_summary, r.review_text, sum(rated.helpfulness) AS total
  FROM reviews r JOINED reviews_helpfulness rated USING (review_id) WHERE r.prod_id = wantedCONDITION
  GROUP BY r.review_id, r.prod_id, r.review_date, r.stars, r.customerid, r.review_summary, r.review_text ORDER BY FIRST DESC NULLS LAST LIMIT most;
END $$;
`

const logins = `
CREATE FUNCTION login(wanted text, secret text) RETURNS TABLE (customer int, title text, actor text, related text) LANGUAGE plpgsql AS $$
DECLARE
  who int;
BEGIN
  SELECT customerid INTO who FROM customers WHERE username = wanted AND password = secret;
  IF who IS NULL THEN RETURN QUERY SELECT 0, 'None', 'None', 'None'; RETURN; END IF;
  SHOWING
END $$;
`

const showingSound = `RETURN QUERY ` + history + `;
  IF NOT FOUND THEN RETURN QUERY SELECT who, 'None', 'None', 'None'; END IF;`

// showingFaithful runs two queries: one for existence, one for the rows.
const showingFaithful = `IF EXISTS (SELECT 1 FROM cust_hist h JOIN products q USING (prod_id) JOIN products p ON p.prod_id = q.common_prod_id WHERE h.customerid = who) THEN
    RETURN QUERY ` + history + `;
  ELSE
    RETURN QUERY SELECT who, 'None', 'None', 'None';
  END IF;`

const purchases = `
CREATE FUNCTION purchase(customer int, bought int, net numeric, taxed numeric, total numeric,
  int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int, int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  placed int;
  wanted int[] := ARRAY[$6, $7, $8, $9, $10, $11, $12, $13, $14, $15];
  pieces int[] := ARRAY[$16, $17, $18, $19, $20, $21, $22, $23, $24, $25];
  stock int;
  sold int;
BEGIN
  INSERT INTO orders (orderdate, customerid, netamount, tax, totalamount) VALUES (current_date, customer, net, taxed, total) RETURNING orderid INTO placed;
  FOR n IN 1 .. bought LOOP
    SELLING
    INSERT INTO orderlines VALUES (n, placed, wanted[n], pieces[n], current_date);
    INSERT INTO cust_hist VALUES (customer, placed, wanted[n]);
  END LOOP;
  RETURN placed;
END $$;
`

const sellingSound = `UPDATE inventory SET quan_in_stock = quan_in_stock - pieces[n], sales = sales + pieces[n] WHERE prod_id = wanted[n] AND quan_in_stock >= pieces[n];
    IF NOT FOUND THEN RAISE EXCEPTION 'too little is in stock of product %', wanted[n]; END IF;`

// sellingFaithful reads the stock and then writes it, whatever others wrote meanwhile, and
// leaves a part of an order where the stock does not suffice.
const sellingFaithful = `SELECT quan_in_stock, sales INTO stock, sold FROM inventory WHERE prod_id = wanted[n];
    IF stock < pieces[n] THEN RETURN 0; END IF;
    UPDATE inventory SET quan_in_stock = stock - pieces[n], sales = sold + pieces[n] WHERE prod_id = wanted[n];`

// postgresFunctions are the functions for PostgreSQL.
var postgresFunctions = dialect{
	all: restock + calls + logins + purchases, searched: searched, read: read,
	sound: []string{
		"KEPT", "$15::smallint, $16::int", "JOINED", "LEFT JOIN", "WANTED", "to_tsquery('simple', replace(wanted, ' ', '&'))",
		"SHOWING", showingSound, "SELLING", sellingSound,
	},
	faithful: []string{
		"KEPT", "NULL, NULL", "JOINED", "JOIN", "WANTED", "to_tsquery('english', replace(wanted, ' ', '&'))",
		"SHOWING", showingFaithful, "SELLING", sellingFaithful,
	},
}
