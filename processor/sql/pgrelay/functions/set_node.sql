-- Purpose: name this node of a multi-master set, once, and space its ids so that they never meet another node's.
-- Parameters: name    1 to 63 characters, no control characters
--             number  this node's number, 1 to "of"
--             of      greatest number of nodes the set will ever have
-- Raises: PR003 bad argument
-- Writes: pgrelay.node, whose trigger spaces the ids
CREATE FUNCTION pgrelay.set_node(name text, number integer, of integer)
RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF set_node.name IS NULL OR char_length(set_node.name) NOT BETWEEN 1 AND 63 OR set_node.name ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'node name must be 1 to 63 characters without control characters',
            DETAIL = format('name = %L', set_node.name);
    END IF;
    IF set_node.number IS NULL OR set_node.of IS NULL OR set_node.number NOT BETWEEN 1 AND set_node.of
       OR set_node.of > 1024 THEN
        RAISE EXCEPTION USING ERRCODE = 'PR003', MESSAGE = 'node number must be between 1 and "of", and "of" at most 1024',
            DETAIL = format('number = %s, of = %s', coalesce(set_node.number::text, 'NULL'), coalesce(set_node.of::text, 'NULL'));
    END IF;
    INSERT INTO pgrelay.node AS n (name, number, of)
    VALUES (set_node.name, set_node.number, set_node.of)
    ON CONFLICT (only_row) DO UPDATE
    SET name = excluded.name, number = excluded.number, of = excluded.of;
END
$$;
COMMENT ON FUNCTION pgrelay.set_node(text, integer, integer) IS 'Names this database node and spaces its ids. Since 1.1.';
REVOKE ALL ON FUNCTION pgrelay.set_node(text, integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pgrelay.set_node(text, integer, integer) TO pgrelay_admin;
