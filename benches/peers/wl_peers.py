"""Relabelling by other libraries on the same forest: CPU seconds of the process (user + system).

usage: wl_peers.py FOREST.jsonl [networkx | karateclub | grakel | python] ...

The forest is one that `cargo run --release -p callgrove-benches --example generate -- 5792` writes; for
our own figure run `cargo bench -p callgrove-benches --bench wl` or the example `scaling` with that file.
Each tool makes the labels of degrees 0 to 4 of every vertex. Building its graphs is timed apart.

Versions: Python 3.11.7, networkx 3.4.2 (from 3.5 on its hashes of directed graphs mix in predecessors),
karateclub 1.3.3 (only its class WeisfeilerLehmanHashing, which needs networkx and nothing else: the
package itself asks for libraries too old to install), GraKeL 0.1.11.
Differences: networkx and karateclub do not stop early, so they also relabel leaves again; neither sums
weights. GraKeL gives a matrix of kernel values and no labels, so its figure holds that matrix too.
"python" is the paper's rule with weights and early stopping in plain Python.
"""
import hashlib
import json
import sys
import time

DEGREES = 4


def cpu(name, work):
    start = time.process_time()
    result = work()
    print(f"{name}: {time.process_time() - start:.2f} CPU s", flush=True)
    return result


def load(path):
    with open(path) as lines:
        json.loads(next(lines))
        return [json.loads(line) for line in lines]


def graphs(trees):
    import networkx as nx

    def graph(tree):
        made = nx.DiGraph()
        made.add_nodes_from((v, {"label": str(f), "feature": f}) for v, f in enumerate(tree["fn"]))
        made.add_edges_from((p, v) for v, p in enumerate(tree["parent"]) if p >= 0)
        return made

    return [graph(tree) for tree in trees]


def run_networkx(trees):
    import networkx as nx

    made = cpu(f"networkx {nx.__version__}: graphs", lambda: graphs(trees))
    cpu("networkx: labels", lambda: [
        nx.weisfeiler_lehman_subgraph_hashes(
            graph, node_attr="label", iterations=DEGREES, include_initial_labels=True)
        for graph in made])


def run_karateclub(trees):
    made = cpu("karateclub 1.3.3: graphs", lambda: graphs(trees))
    try:
        from karateclub.utils.treefeatures import WeisfeilerLehmanHashing

        def relabel(graph):
            return WeisfeilerLehmanHashing(graph, DEGREES, True, False).get_graph_features()
    except ImportError:
        print("karateclub is not installed; its rule is followed by hand", flush=True)

        def relabel(graph):
            labels = {v: str(f) for v, f in graph.nodes(data="feature")}
            words = list(labels.values())
            for _ in range(DEGREES):
                labels = {
                    v: hashlib.md5("_".join(
                        [labels[v], *sorted(labels[n] for n in graph.neighbors(v))]).encode()).hexdigest()
                    for v in graph.nodes()}
                words.extend(labels.values())
            return words

    cpu("karateclub: labels", lambda: [relabel(graph) for graph in made])


def run_grakel(trees):
    import grakel
    from grakel.kernels import VertexHistogram, WeisfeilerLehman

    def graph(tree):
        children = {v: [] for v in range(len(tree["fn"]))}
        for v, p in enumerate(tree["parent"]):
            if p >= 0:
                children[p].append(v)
        return grakel.Graph(children, node_labels=dict(enumerate(tree["fn"])))

    made = cpu(f"GraKeL {grakel.__version__}: graphs", lambda: [graph(tree) for tree in trees])
    kernel = WeisfeilerLehman(n_iter=DEGREES, base_graph_kernel=VertexHistogram, normalize=False)
    cpu("GraKeL: labels and matrix", lambda: kernel.fit_transform(made))


def run_python(trees):
    def bags():
        label_of = {}
        made = []
        for tree in trees:
            parent, weight, labels = tree["parent"], tree["w"], list(tree["fn"])
            children = [[] for _ in parent]
            height = [0] * len(parent)
            for v in range(len(parent) - 1, 0, -1):
                children[parent[v]].append(v)
                height[parent[v]] = max(height[parent[v]], height[v] + 1)
            bag = {}
            live = range(len(parent))
            for degree in range(height[0] + 1):
                live = [v for v in live if height[v] >= degree]
                if degree:
                    new = [label_of.setdefault(
                        (labels[v], tuple(sorted(labels[c] for c in children[v]))),
                        1000 + len(label_of)) for v in live]
                    for v, label in zip(live, new):
                        labels[v] = label
                for v in live:
                    count, total = bag.get(labels[v], (0, 0))
                    bag[labels[v]] = (count + 1, total + weight[v])
            made.append(bag)
        return made

    made = cpu("plain Python: bags", bags)
    print(f"plain Python: {len({label for bag in made for label in bag})} different subtrees")


def main():
    path, *tools = sys.argv[1:]
    trees = load(path)
    print(f"{len(trees)} trees, {sum(len(tree['fn']) for tree in trees)} vertices", flush=True)
    for tool in tools or ["python", "networkx", "karateclub", "grakel"]:
        {"networkx": run_networkx, "karateclub": run_karateclub, "grakel": run_grakel,
         "python": run_python}[tool](trees)


if __name__ == "__main__":
    main()
