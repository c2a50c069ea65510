#!/usr/bin/env python3
"""gensim's PV-DBOW on the subtrees of a forest, to compare with the stack2vec benches.

Made with Python 3.11.7, gensim 4.4.0, numpy 2.4.6, scikit-learn 1.9.1. One worker, no subsampling, 5 negatives.
Usage: gensim_doc2vec.py FOREST.jsonl EPOCHS   (the cstree-forest format, labels -1 and 1)

A document has every subtree as often as its share of the tree's time in thousandths says, at least once: gensim takes
words, not weights. Prints CPU seconds of the training and ROC AUC / average precision of LOF (20 neighbours) and of a
one-class SVM (nu 0.02, gamma = 1 / median squared distance).
"""
import json
import sys
import time

import numpy as np
from gensim.models.doc2vec import Doc2Vec, TaggedDocument
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

TOKENS_PER_TREE = 1000


def bag_of_subtrees(tree, numbers):
    """Total inclusive time per subtree label, with early stopping: a vertex has degrees 0 to its height."""
    parent, func, time_ns = tree["parent"], tree["fn"], tree["w"]
    children = [[] for _ in func]
    height = [0] * len(func)
    for vertex in range(len(func) - 1, 0, -1):
        children[parent[vertex]].append(vertex)
        height[parent[vertex]] = max(height[parent[vertex]], height[vertex] + 1)
    label = [numbers.setdefault(f, len(numbers)) for f in func]
    bag = {}
    for degree in range(height[0] + 1):
        if degree > 0:
            old = list(label)
            for vertex in range(len(func)):
                if height[vertex] >= degree:
                    key = (old[vertex], tuple(sorted(old[child] for child in children[vertex])))
                    label[vertex] = numbers.setdefault(key, len(numbers))
        for vertex in range(len(func)):
            if height[vertex] >= degree:
                bag[label[vertex]] = bag.get(label[vertex], 0) + time_ns[vertex]
    return bag


def words(bag):
    total = sum(bag.values())
    tokens = []
    for label, time_ns in sorted(bag.items()):
        tokens += [str(label)] * max(1, round(TOKENS_PER_TREE * time_ns / total))
    return tokens


def main():
    path, epochs = sys.argv[1], int(sys.argv[2])
    with open(path) as lines:
        next(lines)
        trees = [json.loads(line) for line in lines]
    numbers = {}
    documents = [TaggedDocument(words(bag_of_subtrees(tree, numbers)), [i]) for i, tree in enumerate(trees)]
    is_anomaly = np.array([tree["label"] < 0 for tree in trees])
    model = Doc2Vec(vector_size=128, dm=0, dbow_words=0, negative=5, hs=0, min_count=1, sample=0, epochs=epochs,
                    alpha=0.025, min_alpha=1e-4, workers=1, seed=1)
    model.build_vocab(documents)
    start = time.process_time()
    model.train(documents, total_examples=len(documents), epochs=epochs)
    seconds = time.process_time() - start
    x = model.dv.vectors.astype(float)
    rng = np.random.default_rng(0)
    i, j = rng.integers(len(x), size=(2, 20000))
    distances = ((x[i] - x[j]) ** 2).sum(1)
    gamma = 1 / np.median(distances[distances > 0])
    lof = -LocalOutlierFactor(20).fit(x).negative_outlier_factor_
    svm = -OneClassSVM(gamma=gamma, nu=0.02, tol=1e-6).fit(x).decision_function(x)
    for name, score in (("LOF", lof), ("OCSVM", svm)):
        roc, precision = roc_auc_score(is_anomaly, score), average_precision_score(is_anomaly, score)
        print(f"{name} ROC {roc:.3f} AP {precision:.3f}")
    print(f"{epochs} epochs, {len(numbers)} labels, {sum(len(d.words) for d in documents)} words: {seconds:.1f} CPU s")


if __name__ == "__main__":
    main()
