-- Purpose: the schema of the mail pipeline's queue. Its role owns it and everything in it; nobody else is let in unless the operator does so.
CREATE SCHEMA pepsi;
COMMENT ON SCHEMA pepsi IS 'PEPSI: messages on their way through the post-ingress pipeline.';
-- Before the objects in it: whoever is to own them needs CREATE on the schema.
ALTER SCHEMA pepsi OWNER TO pepsi;
REVOKE ALL ON SCHEMA pepsi FROM PUBLIC;
